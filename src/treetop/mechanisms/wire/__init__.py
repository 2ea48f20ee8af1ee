"""What server and parties send each other, a module for each mechanism, and how it is written and strictly read."""
