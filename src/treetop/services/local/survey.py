"""`treetop up --survey`: what people are asked beside the simulated users, and the page that asks them."""

import html
import json
import socket
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path

from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.errors import InvalidInput
from treetop.public_text import name_problem

SCRIPTS = ("treetop-survey.js", "campaigns.js", "itemLists.js", "rounds.js", "sets.js", "textCode.js")
"""The element, and what it loads where a task needs it: files of the package `@treetop/device`."""


@dataclass(frozen=True)
class SurveyPlan:
    """What people are asked, and for how long; kept beside the federation."""

    question: str
    seconds: int
    origins: tuple[str, ...] = ()
    """Other sites whose pages may report to the party."""

    def __post_init__(self) -> None:
        if problem := name_problem(self.question):
            raise InvalidInput("question_malformed", problem=problem)

    def save(self, folder: Path) -> None:
        """Keep it in a federation's folder."""
        replace_durably(folder / "survey.json", json.dumps(asdict(self)).encode("ascii") + b"\n")

    @classmethod
    def load(cls, folder: Path) -> "SurveyPlan | None":
        """Return the survey of a federation, or None for one without."""
        content = content_of(folder / "survey.json")
        if content is None:
            return None
        try:
            found = json.loads(content)
            return cls(found["question"], found["seconds"], tuple(found["origins"]))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InvalidInput("survey_file_malformed", json=folder / "survey.json") from None


@dataclass(frozen=True)
class SurveyTask:
    """What the page must know of the task that it asks."""

    digest: str
    party: str
    party_url: str
    pinned: str
    """The server's public key."""
    choices: tuple[str, ...]
    """What people choose from."""
    back_end_key_file: Path
    """Of the key that tickets are asked for with."""

    def for_other_sites(self) -> bytes:
        """Return what a site with a page of its own must know (examples/survey)."""
        facts = {
            "party": self.party_url,
            "party_name": self.party,
            "task": self.digest,
            "server_key": self.pinned,
            "items": self.choices,
            "back_end_key_file": str(self.back_end_key_file),
        }
        return json.dumps(facts, indent=1).encode("ascii") + b"\n"


def page_file(name: str) -> bytes:
    """Return a file of the page."""
    return files("treetop.services.local").joinpath("survey_page", name).read_bytes()


def survey_page(plan: SurveyPlan, task: SurveyTask) -> bytes:
    """Return the page; whatever a text holds, it stays a text."""
    texts = {
        "question": plan.question,
        "task": task.digest,
        "party-name": task.party,
        "server-keys": task.pinned,
    }
    attributes = " ".join(f'{name}="{html.escape(text)}"' for name, text in texts.items())
    options = "\n".join(f"      <option>{html.escape(item)}</option>" for item in task.choices)
    return page_file("index.html").replace(b"{attributes}", attributes.encode()).replace(b"{options}", options.encode())


def network_address() -> str | None:
    """Return this machine's address in its network, or None where it is in none; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address for documentation: nobody has it
        except OSError:
            return None
        found: str = probe.getsockname()[0]
    return None if found.startswith("127.") or found == "0.0.0.0" else found  # noqa: S104  not listened on
