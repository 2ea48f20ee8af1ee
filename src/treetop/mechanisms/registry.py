"""Mechanisms by name, and the settings that somebody of them has."""

from collections.abc import Iterable, Mapping
from typing import Any

from treetop.encoding.bit_strings import SHORTEST, code_array
from treetop.encoding.item_codecs import Hashed
from treetop.entry_points import Registry
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.canopy import Canopy
from treetop.mechanisms.fedpem import Fedpem
from treetop.mechanisms.gtf import Gtf
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.texts import CodeList
from treetop.mechanisms.parameters import P, Setting
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.tap import Tap
from treetop.mechanisms.taps import Taps
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO
from treetop.privacy.epsilon import Epsilon
from treetop.wording import Note

GROUP = "treetop.mechanisms"
"""Entry points of other packages: each names a Mechanism, or a class of one that takes no arguments."""


def _checked(entry: object) -> Mechanism[Any]:
    mechanism = entry() if isinstance(entry, type) and issubclass(entry, Mechanism) else entry
    if not isinstance(mechanism, Mechanism):
        raise InvalidInput("mechanism_entry_point", group=GROUP, entry=entry)
    return mechanism


OWN: dict[str, Mechanism[Any]] = {
    mechanism.name: mechanism for mechanism in (Fedpem(), Gtf(), Tap(), Taps(), Canopy(), Panorama())
}
MECHANISMS = Registry("mechanism", OWN, GROUP, _checked)
FOR_A_QUERY: dict[str, Mechanism[Any]] = {
    "panorama": Panorama(CodeList.hashed([b"chai", b"latte", b"cocoa"], Hashed(SHORTEST), 1, ordered=False)),
    "catalogue": Panorama(CodeList.of_codes(code_array(range(3), SHORTEST)), discovers=False, texts=False),
}
"""Panorama as it is made for the items of one query: with a list, and over a catalogue. The audit runs both."""
SETTINGS: dict[str, Setting] = {}
"""All settings of Treetop's own mechanisms; where two have one of the same name, that of the first."""
for _mechanism in OWN.values():
    for _name, _known in _mechanism.parameters.settings().items():
        SETTINGS.setdefault(_name, _known)


def mechanism_named(mechanism: str | Mechanism[Any]) -> Mechanism[Any]:
    """Return the mechanism of that name; one that is given as an object is returned as it is."""
    if isinstance(mechanism, Mechanism):
        return mechanism
    if mechanism not in MECHANISMS:
        raise UnknownName("mechanism", mechanism, MECHANISMS)
    return MECHANISMS[mechanism]


def registered_mechanism(mechanism: str | Mechanism[Any]) -> Mechanism[Any]:
    """Return a mechanism that everybody finds by its name alone, as the parties of a signed task must."""
    found = mechanism_named(mechanism)
    if found.name not in MECHANISMS or type(MECHANISMS[found.name]) is not type(found):
        raise InvalidInput("mechanism_not_registered", name=found.name, group=GROUP)
    return found


def known_setting(name: str, others: Iterable[Mechanism[Any]] = ()) -> Setting:
    """Return a setting of any mechanism: a registered one, or one of some others."""
    if name in SETTINGS:
        return SETTINGS[name]
    known: dict[str, Setting] = dict(SETTINGS)
    for mechanism in (*MECHANISMS.values(), *others):
        known.update(mechanism.parameters.settings())
    if name not in known:
        raise UnknownName("setting", name, known)
    return known[name]


def parameters_for(
    mechanism: Mechanism[P],
    k: int,
    epsilon: float | str,
    oracle: str | Oracle = AUTO,
    settings: Mapping[str, object] | None = None,
    *,
    others: Iterable[Mechanism[Any]] = (),
) -> P:
    """Return a mechanism's parameters.

    A setting that only another mechanism has is checked and left out, and `unread_settings` names it. One that nobody
    has, neither a registered mechanism nor one of the others, is refused.
    """
    own = mechanism.parameters.settings()
    read = dict[str, object]()
    for name, value in (settings or {}).items():
        if name in own:
            read[name] = value
        else:
            known_setting(name, others).parse(name, value)
    return mechanism.parameters(k, Epsilon(epsilon), oracle).with_settings(read)


def unread_settings(mechanism: Mechanism[Any], settings: Mapping[str, object]) -> tuple[Note, ...]:
    """Note the settings that a mechanism does not use."""
    own = mechanism.parameters.settings()
    return tuple(Note("setting_unused", mechanism=mechanism.name, setting=name) for name in settings if name not in own)
