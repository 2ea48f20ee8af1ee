"""Ports of this machine that nobody listens on."""

import socket

from treetop.services.local.folder import HOST


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on at the moment."""
    sockets = [socket.create_server((HOST, 0)) for _ in range(number)]
    ports = [taken.getsockname()[1] for taken in sockets]
    for taken in sockets:
        taken.close()
    return ports
