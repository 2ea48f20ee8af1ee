"""Run by the server in rounds: which candidate lists it signs, one for each group of a party, all logged (T1, T2)."""

from typing import Any

from treetop.errors import PeerViolation
from treetop.federation.device.list_checks import check_question
from treetop.federation.level_reports import weights_at
from treetop.federation.ports import Signer
from treetop.federation.service_ports import Journal
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import PublishedList, signed, unverified_content
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.registry import mechanism_named
from treetop.mechanisms.strict_json import require
from treetop.trie.user_groups import Role


class ListLog:
    """The public log of a task: a list once signed is there for ever, and there is never a second one for its group."""

    def __init__(self, task: DeviceTask, signer: Signer, journal: Journal) -> None:
        self._task = task
        self._signer = signer
        self._journal = journal
        self._mechanism = mechanism_named(task.mechanism)
        self.book = f"log:{task.digest.hex()}"

    def signed_list(self, facts: PublicFacts[Parameters], content: str) -> bytes:
        """Return the signed document of a list that stands the public checks; the same list, the same document."""
        listed = PublishedList.from_bytes(content.encode("ascii", errors="replace"), self._task)
        check_list(self._task, self._mechanism, facts, listed)
        group = listed.question.group
        name = f"{facts.member.name}:{group.level}:{tuple(Role).index(group.role)}"
        document = self._journal.write(
            self.book, f"list:{name}", signed("list", listed.to_bytes(self._task), self._signer)
        )
        if unverified_content(document) != content:
            self._journal.write(self.book, f"refused:{name}:{listed.question.digest.hex()}", content.encode("ascii"))
            raise PeerViolation(f"candidate list of {group}", "the one that was signed before", "another")
        if group.role is Role.ESTIMATE:
            facts.slots[group.level] = listed.question.slots
        return document


def check_list(
    task: DeviceTask, mechanism: Mechanism[Any], facts: PublicFacts[Parameters], listed: PublishedList
) -> None:
    """Refuse a list that devices would refuse, or that the mechanism would not ask."""
    question = listed.question
    require(listed.party == facts.member.name, "party of a list", facts.member.name, listed.party)
    require(question.group in weights_at(task, listed.party), "group of a list", "one of the party", question.group)
    check_question(task, question.group, question, listed.published)
    require(mechanism.deployment.prunes or not question.pruned, "pruned candidates", "none", len(question.pruned))
    named = mechanism.wire.published_prefixes(facts)
    if named is not None:
        same = listed.published.prefixes == tuple(sorted(map(int, named.tolist())))
        require(same, "published prefixes", "those that the server named", "others")
