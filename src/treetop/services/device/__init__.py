"""One user's device over HTTP."""
