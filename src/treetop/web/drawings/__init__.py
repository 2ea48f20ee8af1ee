"""Pictures as pure functions from data to SVG text, drawn on the server."""
