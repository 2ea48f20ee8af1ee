"""An answer, which simulator and server build alike: what it holds, its JSON form, how it is shown and written."""
