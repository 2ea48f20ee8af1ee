"""Moves the fragments of `changes/` into CHANGELOG.md, under the version of pyproject.toml: `make changelog`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.supply_chain.locks import ROOT

from treetop.whole_files import write_whole

CHANGELOG = ROOT / "CHANGELOG.md"
FRAGMENTS = ROOT / "changes"
KINDS = ("promises", "added", "changed", "fixed")
"""In the order in which a reader needs them."""


def fragments_in(folder: Path) -> dict[Path, str]:
    """Return the fragments of a folder and the kind of each; a name without a known kind is refused."""
    kinds = {}
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        kind = path.name.removesuffix(".md").rpartition(".")[2]
        if kind not in KINDS:
            raise ValueError(f"{path.name}: expected NAME.KIND.md with KIND one of {', '.join(KINDS)}")
        kinds[path] = kind
    return kinds


def assembled(changelog: str, version: str, texts: Mapping[str, Sequence[str]]) -> str:
    """Return the changelog with texts, by kind, under the version's heading, which is added where it is missing."""
    head, *sections = re.split(r"^(?=## )", changelog, flags=re.MULTILINE)
    if not sections or sections[0].split()[1] != version:
        sections.insert(0, f"## {version}\n\n")
    intro, *parts = re.split(r"^(?=### )", sections[0], flags=re.MULTILINE)
    by_kind = {part.partition("\n")[0].removeprefix("### ").lower(): part.strip() for part in parts}
    for kind, added in texts.items():
        bullets = "\n".join(f"- {text.strip()}".replace("\n", "\n  ") for text in added)
        before = by_kind.get(kind)
        joined_by = "\n" if before and before.splitlines()[-1].startswith(("- ", "  ")) else "\n\n"
        by_kind[kind] = f"{before or f'### {kind.capitalize()}'}{joined_by}{bullets}"
    order = dict.fromkeys((*KINDS, *by_kind))
    ordered = [by_kind[kind] for kind in order if kind in by_kind]
    sections[0] = "\n\n".join([intro.strip(), *ordered]) + "\n"
    return head + "\n".join(section.strip("\n") + "\n" for section in sections)


def main() -> None:
    """Move all fragments."""
    kinds = fragments_in(FRAGMENTS)
    if not kinds:
        print("changes/ holds no fragment: nothing to do")
        return
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    texts = {
        kind: [path.read_text("utf-8") for path in kinds if kinds[path] == kind]
        for kind in KINDS if kind in kinds.values()
    }  # fmt: skip
    write_whole(CHANGELOG, assembled(CHANGELOG.read_text("utf-8"), version, texts).encode("utf-8"))
    for path in kinds:
        path.unlink()


if __name__ == "__main__":
    main()
