"""Tables in files and databases: every format that is read, and how people say what is in them."""
