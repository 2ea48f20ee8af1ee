"""The party's and the server's HTTP interfaces, and those who call them."""
