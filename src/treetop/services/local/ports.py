"""Ports of this machine that nobody listens on."""

import socket

from treetop.services.local.folder import HOST

_GIVEN: set[int] = set()
"""Ports that this process has been given: whoever is to listen there may not have begun."""


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on at the moment, none of them twice in the life of this process."""
    sockets, ports = list[socket.socket](), list[int]()
    try:
        while len(ports) < number:
            sockets.append(socket.create_server((HOST, 0)))
            port = int(sockets[-1].getsockname()[1])
            if port not in _GIVEN:
                ports.append(port)
    finally:
        for taken in sockets:
            taken.close()
    _GIVEN.update(ports)
    return ports
