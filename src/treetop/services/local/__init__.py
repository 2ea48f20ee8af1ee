"""`treetop up`: a whole federation on this machine."""
