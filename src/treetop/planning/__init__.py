"""What could be found, before anybody is asked: `treetop.plan`."""
