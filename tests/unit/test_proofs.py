"""Every oracle and protocol that devices answer has a proof, and whoever changes one of the two looks at the other.

A failure here says: read the proof and the code again, together; if they still agree, write the new digest below.
"""

import re
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from treetop.audit import campaign_cycles, set_laws, transcripts
from treetop.audit.audit_report import Check
from treetop.audit.empirical_epsilon import device_check
from treetop.audit.laws import long_lists, oracle_laws, shuffled_reports
from treetop.audit.laws.exact_ratios import Odds
from treetop.audit.run import audited_mechanisms
from treetop.oracles.registry import ORACLES
from treetop.privacy.budget import Budget

ROOT = Path(__file__).parents[2]
GUARANTEE = (ROOT / "docs" / "explanation" / "privacy_guarantee.md").read_text()
SOURCE = ROOT / "src" / "treetop"
ONE = Budget("1")

PROOFS = {
    "k-RR": "7d100f2a5ef95759",
    "OUE": "4605eb113773971f",
    "OLH": "38abe78adc0994bc",
    "Walsh": "a4b8eeba4696bac9",
    "The central guarantee": "a67182574f316bca",
    "Sets": "06068f7ef3945bc3",
    "Campaigns": "9dbd1cf01ac9dd1d",
    "Whole runs": "4cccef39a1e7b311",
    "FedPEM": "e09f6f00e3203b8a",
    "GTF": "c658ee933d809e94",
    "TAP": "abe2f49979ee93df",
    "TAPS": "8fe3ba07868feff1",
    "Canopy": "4cf95d716e88a4f3",
    "Panorama": "946a8c9a646e9226",
}
PROVED_CODE = {
    "privacy/budget.py": "6c39b7d7629f4b5d",
    "privacy/randomness.py": "b5f28d0df23f0e17",
    "privacy/shuffling.py": "1841f783317adb37",
    "oracles/protocol.py": "3c68a664f8aa77ea",
    "oracles/krr/device.py": "fe6fe23a6c90ce7d",
    "oracles/oue/device.py": "8360181a3134eecd",
    "oracles/hashed_reports.py": "061d17f926e67485",
    "oracles/olh/device.py": "4b7bdb6c4a1b2c24",
    "oracles/set_reports.py": "fd0a83c7bd2511b0",
    "oracles/walsh/device.py": "7ae0fce9862aba2c",
    "federation/device/device.py": "4db4e72eef724e2c",
    "federation/device/ledger.py": "08931934bb148b80",
    "federation/device/private_value.py": "fb8020ccd6f1e897",
}


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


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
        exact = [*oracle_laws.oracle_checks(oracle, quick=True), *long_lists.long_list_checks(oracle, quick=True)]
        return [*exact, device_check(oracle, ONE, 10), shuffled_reports.shuffled_check(oracle, quick=True)]
    return transcripts.end_to_end_checks(audited_mechanisms()[name], quick=True, called=name)


@pytest.mark.parametrize("name", [*ORACLES, "sets", "campaign", *audited_mechanisms()])
def test_every_oracle_and_mechanism_has_a_proof_and_checks_that_show_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row names the section and all checks that `treetop audit` runs; nothing is enumerated here."""
    monkeypatch.setattr(oracle_laws, "oracle_cases", lambda *_: [(ONE, Odds(1, 1))])
    monkeypatch.setattr(shuffled_reports, "compared", lambda *_: [(Fraction(0), 1.0)])
    monkeypatch.setattr(set_laws, "worst_odds", lambda *_: [Odds(1, 1)])
    monkeypatch.setattr(
        set_laws, "empirical_set_check", lambda form, _: Check(f"empirical_{form.name}_sets", True, "", 0, 0)
    )
    monkeypatch.setattr(campaign_cycles, "worst_odds", lambda *_: Odds(1, 1))
    monkeypatch.setattr(campaign_cycles, "cycle_loss_check", lambda _: Check("longitudinal_campaign", True, "", 0, 0))
    monkeypatch.setattr(long_lists, "worst_odds", lambda *_: Odds(1, 1))
    monkeypatch.setattr(transcripts, "worst_odds", lambda *_: (Odds(1, 1), 1))
    row = re.search(rf"^\| `{name}` \| .*? is ε-LDP: \[(.+?)\]\(#(.+?)\) \| (.+) \| (.+) \|$", GUARANTEE, re.MULTILINE)
    assert row, f"no row for {name} in privacy_guarantee.md"
    title, anchor, _, named = row.groups()
    assert title in PROOFS
    assert anchor == title.lower().replace(" ", "-")
    assert set(re.findall(r"`(.+?)`", named)) - {"exact_device"} == {check.name for check in checks_of(name)}


@pytest.mark.parametrize("title", PROOFS)
def test_a_proof_is_the_one_that_was_reviewed(title: str) -> None:
    text = section(title)
    for part in ("**Public:**", "roof", "**Who learns what:**", "**Not covered by ε:**"):
        assert part in text
    assert digest(text) == PROOFS[title]


@pytest.mark.parametrize("name", PROVED_CODE)
def test_proved_code_is_what_the_proofs_were_written_for(name: str) -> None:
    assert digest((SOURCE / name).read_text()) == PROVED_CODE[name]


def test_the_other_pages_are_there() -> None:
    for page in ("threat_model", "known_weaknesses", "wire_protocol"):
        assert (ROOT / "docs" / "explanation" / f"{page}.md").read_text().startswith("# ")
    assert "privately" in (ROOT / "SECURITY.md").read_text()


def test_the_page_names_code_that_exists() -> None:
    files = re.findall(r"`((?:oracles|privacy|federation|mechanisms)/[a-z_/]+\.py)`", GUARANTEE)
    assert set(PROVED_CODE) <= set(files)
    for name in files:
        assert (SOURCE / name).exists(), name
