"""What goes over the wire: reports, tickets, signed documents."""
