"""Every oracle and protocol that devices answer has a proof, and checks that show it."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from treetop.audit import campaign_cycles, central_guarantee, oracle_laws, set_laws, transcripts
from treetop.audit.checks import Check, Odds
from treetop.audit.empirical_epsilon import device_check
from treetop.audit.run import audited_mechanisms
from treetop.oracles.registry import ORACLES
from treetop.privacy.budget import Budget

ROOT = Path(__file__).parents[2]
GUARANTEE = (ROOT / "docs" / "explanation" / "privacy_guarantee.md").read_text()
SOURCE = ROOT / "src" / "treetop"
ONE = Budget("1")

PROOFS = (
    "k-RR", "OUE", "OLH", "Walsh", "The central guarantee", "Sets", "Campaigns", "Whole runs", "FedPEM", "GTF", "TAP",
    "TAPS", "Canopy", "Panorama",
)  # fmt: skip
PROVED_CODE = {
    "privacy/budget.py", "privacy/randomness.py", "privacy/shuffling.py", "oracles/protocol.py",
    "oracles/krr/device.py", "oracles/oue/device.py", "oracles/hashed_reports.py", "oracles/olh/device.py",
    "oracles/set_reports.py", "oracles/walsh/device.py", "federation/device/device.py",
    "federation/device/ledger.py", "federation/device/private_value.py",
}  # fmt: skip


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", GUARANTEE, re.MULTILINE | re.DOTALL)
    assert found, f"no proof of {title}"
    return found[1]


def checks_of(name: str) -> list[Check]:
    if name == "campaign":
        return campaign_cycles.campaign_checks(quick=True)
    if name == "sets":
        return set_laws.set_checks(quick=True)
    if name in ORACLES:
        oracle = ORACLES[name]
        exact = [*oracle_laws.oracle_checks(oracle, quick=True), *oracle_laws.long_list_checks(oracle, quick=True)]
        return [*exact, device_check(oracle, ONE, 10), central_guarantee.shuffled_check(oracle, quick=True)]
    return transcripts.end_to_end_checks(audited_mechanisms()[name], quick=True, called=name)


@pytest.mark.parametrize("name", [*ORACLES, "sets", "campaign", *audited_mechanisms()])
def test_every_oracle_and_mechanism_has_a_proof_and_checks_that_show_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row names the section and all checks that `treetop audit` runs; nothing is enumerated here."""
    monkeypatch.setattr(oracle_laws, "oracle_cases", lambda *_: [(ONE, Odds(1, 1))])
    monkeypatch.setattr(central_guarantee, "compared", lambda *_: [(Fraction(0), 1.0)])
    monkeypatch.setattr(set_laws, "worst_odds", lambda *_: [Odds(1, 1)])
    monkeypatch.setattr(
        set_laws, "empirical_set_check", lambda form, _: Check(f"empirical_{form.name}_sets", True, "", 0, 0)
    )
    monkeypatch.setattr(campaign_cycles, "worst_odds", lambda *_: Odds(1, 1))
    monkeypatch.setattr(campaign_cycles, "cycle_loss_check", lambda _: Check("longitudinal_campaign", True, "", 0, 0))
    monkeypatch.setattr(oracle_laws, "long_list_odds", lambda *_: Odds(1, 1))
    monkeypatch.setattr(transcripts, "worst_odds", lambda *_: (Odds(1, 1), 1))
    row = re.search(rf"^\| `{name}` \| .*? is ε-LDP: \[(.+?)\]\(#(.+?)\) \| (.+) \| (.+) \|$", GUARANTEE, re.MULTILINE)
    assert row, f"no row for {name} in privacy_guarantee.md"
    title, anchor, _, named = row.groups()
    assert title in PROOFS
    assert anchor == title.lower().replace(" ", "-")
    assert set(re.findall(r"`(.+?)`", named)) - {"exact_device"} == {check.name for check in checks_of(name)}


@pytest.mark.parametrize("title", PROOFS)
def test_a_proof_has_all_of_its_parts(title: str) -> None:
    text = section(title)
    for part in ("**Public:**", "roof", "**Who learns what:**", "**Not covered by ε:**"):
        assert part in text


def test_the_other_pages_are_there() -> None:
    for page in ("threat_model", "known_weaknesses", "wire_protocol"):
        assert (ROOT / "docs" / "explanation" / f"{page}.md").read_text().startswith("# ")
    assert "privately" in (ROOT / "SECURITY.md").read_text()


def test_the_page_names_code_that_exists() -> None:
    files = re.findall(r"`((?:oracles|privacy|federation|mechanisms)/[a-z_/]+\.py)`", GUARANTEE)
    assert set(files) >= PROVED_CODE
    for name in files:
        assert (SOURCE / name).exists(), name
