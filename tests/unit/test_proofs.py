"""Every oracle and protocol that devices answer has a proof, and whoever changes one of the two looks at the other.

A failure here says: read the proof and the code again, together; if they still agree, write the new digest below.
"""

import re
from hashlib import sha256
from pathlib import Path

import pytest

from treetop.oracles.registry import ORACLES

ROOT = Path(__file__).parents[2]
GUARANTEE = (ROOT / "docs" / "explanation" / "privacy_guarantee.md").read_text()
SOURCE = ROOT / "src" / "treetop"
SECTION_OF = {"krr": "k-RR", "oue": "OUE", "olh": "OLH"}

PROOFS = {
    "k-RR": "6f8e1e1350ebb48a",
    "OUE": "4605eb113773971f",
    "OLH": "38abe78adc0994bc",
    "TAP": "b3538b5760d9230a",
    "TAPS": "2538512a8eff0965",
}
PROVED_CODE = {
    "privacy/budget.py": "6c39b7d7629f4b5d",
    "privacy/randomness.py": "b5f28d0df23f0e17",
    "oracles/protocol.py": "c76b8fabb08d592e",
    "oracles/krr/device.py": "fe6fe23a6c90ce7d",
    "oracles/oue/device.py": "8360181a3134eecd",
    "oracles/olh/device.py": "ab5437308668800d",
    "federation/device/device.py": "3b9023330502a249",
}


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", GUARANTEE, re.MULTILINE | re.DOTALL)
    assert found, f"no proof of {title}"
    return found[1]


def test_every_oracle_has_a_proof() -> None:
    assert set(SECTION_OF) == set(ORACLES)
    assert set(SECTION_OF.values()) <= set(PROOFS)


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


def test_the_table_names_checks_that_exist() -> None:
    from treetop.audit import device_laws, transcripts

    exact = {f"{kind}_{oracle}" for kind in ("exact", "tight") for oracle in ORACLES}
    sources = "".join(Path(module.__file__ or "").read_text() for module in (device_laws, transcripts))
    named = set(re.findall(r"`((?:exact|tight|end_to_end)_[a-z_]+)`", GUARANTEE))
    assert exact <= named
    for name in named - exact:
        assert f'"{name}"' in sources


def test_the_page_names_code_that_exists() -> None:
    files = re.findall(r"`((?:oracles|privacy|federation|mechanisms)/[a-z_/]+\.py)`", GUARANTEE)
    assert set(PROVED_CODE) <= set(files)
    for name in files:
        assert (SOURCE / name).exists(), name
