"""The exact law of a whole device: question in, bytes or a refusal out, for every value and every random byte."""

from collections.abc import Hashable
from fractions import Fraction
from itertools import product

from treetop.audit.audit_report import Check
from treetop.audit.laws.exact_ratios import Odds, largest_odds, within
from treetop.audit.laws.oracle_laws import edges
from treetop.audit.neighbouring_inputs import Audited, DeviceFactory, audited, fresh_ledger
from treetop.audit.scripted_entropy import Exhausted, ScriptedEntropy, word
from treetop.errors import TreetopError
from treetop.federation.device.device import Device
from treetop.oracles.krr import KRandomizedResponse
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORDS

SILENCE = "no report"


def outcome(factory: DeviceFactory, asked: Audited, value: int | None, script: bytes) -> Hashable:
    """Return what the party sees: the bytes of a report, or that there is none."""
    device = factory(lambda: value, ScriptedEntropy(script), fresh_ledger())
    try:
        return asked.answer(device)
    except TreetopError:
        return SILENCE


def device_law(factory: DeviceFactory, asked: Audited, value: int | None) -> dict[Hashable, Fraction]:
    """Return the probability of everything that a k-RR device may answer."""
    law: dict[Hashable, Fraction] = {}
    for first, end in edges(asked.face):
        weight = end - first
        outcomes = list(_outcomes(factory, asked, value, word(first)))
        for seen in outcomes:
            law[seen] = law.get(seen, Fraction(0)) + Fraction(weight, WORDS * len(outcomes))
    return law


def _outcomes(factory: DeviceFactory, asked: Audited, value: int | None, head: bytes) -> list[Hashable]:
    found: list[Hashable] = []
    for ending in product(range(256)):
        try:
            found.append(outcome(factory, asked, value, head + bytes(ending)))
        except Exhausted:
            continue
    return found


def worst_odds(factory: DeviceFactory, asked: Audited) -> Odds:
    """Return the largest ratio over everything that a party may see, silence included."""
    laws = [device_law(factory, asked, value) for value in asked.values]
    seen = {output for law in laws for output in law}
    return largest_odds([law.get(output, Fraction(0)) for law in laws] for output in seen)


def device_law_check(factory: DeviceFactory = Device) -> Check:
    """Check a whole device, with values inside and outside the candidates."""
    cases = [
        (budget, worst_odds(factory, audited(KRandomizedResponse(), budget, bits)))
        for budget in (Budget("1"), Budget("4"))
        for bits in (1, 2)
    ]
    claim = "a device's answer, or its silence, is never more than e^epsilon likelier for one value than another"
    return within("exact_device", claim, cases)
