"""Pages for people: over a server, over a party, and over a file without any federation."""
