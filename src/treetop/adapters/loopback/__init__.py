"""A whole federation on this machine: its folder, its processes, one after the other."""
