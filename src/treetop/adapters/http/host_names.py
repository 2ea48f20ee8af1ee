"""Which names a service on this machine answers to.

A page of another site can have its name resolved to 127.0.0.1 after it was loaded (DNS rebinding): to the browser, what
listens here is then of the same origin. Its requests still carry the site's name in `Host`, and are refused by it.
"""

import re

from starlette.types import Scope

from treetop.adapters.http.endpoint_settings import Address, Tls
from treetop.adapters.http.problem_details import Problem

LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HOST = re.compile(rb"([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE)


def names_of(address: Address) -> frozenset[str]:
    """Return the names under which people on this machine, or in its network, reach an address."""
    host = f"[{address.host}]" if ":" in address.host else address.host
    return LOCAL_NAMES | {host.lower()}


def local_names(listen: Address, tls: Tls | None, trusted_proxy: bool) -> frozenset[str] | None:
    """Return the names that a service answers to if only this machine can reach it; None: any name.

    With TLS a browser compares the name with the certificate. A proxy passes on the name by which it is known.
    """
    return names_of(listen) if listen.loopback and tls is None and not trusted_proxy else None


def check_host(scope: Scope, names: frozenset[str]) -> None:
    """Raise 421 unless a request names this machine, once."""
    given = [value for name, value in scope["headers"] if name == b"host"]
    match = _HOST.fullmatch(given[0]) if len(given) == 1 else None
    if match is None or match[1].decode("ascii").lower() not in names:
        raise Problem(421, "this service answers to this machine's own names; behind a proxy, set trusted_proxy = true")
