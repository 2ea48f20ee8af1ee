"""The names that a service on this machine answers to."""

import pytest

from treetop.adapters.http.browser_rules import LOCAL_NAMES, check_host, local_names, names_of
from treetop.adapters.http.endpoint_settings import Address, Tls
from treetop.adapters.http.problem_details import Problem

TLS = Tls("certificate", "key")  # type: ignore[arg-type]


def is_refused(*hosts: bytes, names: frozenset[str] = LOCAL_NAMES) -> bool:
    try:
        check_host({"type": "http", "headers": [(b"host", host) for host in hosts]}, names)
    except Problem:
        return True
    return False


@pytest.mark.parametrize("host", [b"localhost", b"LocalHost:80", b"127.0.0.1:65535", b"[::1]", b"[::1]:8460"])
def test_names_of_this_machine_are_taken(host: bytes) -> None:
    assert not is_refused(host)


@pytest.mark.parametrize(
    "hosts",
    [
        (), (b"",), (b"localhost", b"localhost"), (b"evil.example",), (b"evil.example:80",), (b"localhost.",),
        (b"127.0.0.1.evil.example",), (b"localhost.evil.example",), (b"127.0.0.1@evil.example",), (b"::1",),
        (b"localhost:80:80",), (b"localhost:",), (b"localhost:8x",), (b" localhost",), (b"\xff",), (b"0.0.0.0",),
        (b"localhost/evil",), (b"localhost\\.evil",), (b"127.0.0.2",),
    ],
)  # fmt: skip
def test_every_other_host_is_refused(hosts: tuple[bytes, ...]) -> None:
    assert is_refused(*hosts)


def test_the_configured_address_is_a_name_as_well() -> None:
    assert not is_refused(b"192.168.0.7:443", names=names_of(Address("192.168.0.7", 443)))
    assert not is_refused(b"[FE80::1]", names=names_of(Address("fe80::1", 1)))
    assert is_refused(b"192.168.0.8", names=names_of(Address("192.168.0.7", 443)))


def test_only_plain_services_on_loopback_without_a_proxy_look_at_the_name() -> None:
    here = Address("127.0.0.1", 8460)
    assert local_names(here, None, False) == LOCAL_NAMES
    assert local_names(Address("127.0.0.2", 1), None, False) == LOCAL_NAMES | {"127.0.0.2"}
    assert local_names(here, None, True) is None
    assert local_names(here, TLS, False) is None
    assert local_names(Address("0.0.0.0", 8460), None, True) is None  # noqa: S104
