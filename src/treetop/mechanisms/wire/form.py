"""How a mechanism's messages and uploads travel: encoders write JSON, decoders refuse what cannot be true.

The form here suits a mechanism whose server sends nothing and whose parties upload their heavy hitters once, at the
end. A mechanism that says more has a form of its own.
"""

from typing import Any, Generic

from treetop.encoding.bit_strings import Codes
from treetop.errors import InvalidInput
from treetop.mechanisms.dialogue import Findings, Upload
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.parameters import P
from treetop.mechanisms.public_facts import PublicFacts, decode_counts, encode_counts
from treetop.mechanisms.strict_json import COUNT_BYTES, code_bytes, record, require


class WireForm(Generic[P]):
    """Everything that is sent between the server and one party, which `facts` is about."""

    def uploads(self, parameters: P) -> int:
        """Return how many uploads a party sends, its findings included."""
        return 1

    def max_message_bytes(self, parameters: P) -> int:
        """Return how long a message of the server can be, as `encode_message` writes it."""
        return len("null")

    def max_reply_bytes(self, parameters: P, levels: Levels) -> int:
        """Return how long a reply of a party can be: the counts of all candidates of the last level, in JSON."""
        return levels.max_candidates[-1] * (code_bytes(levels.lengths[-1]) + COUNT_BYTES)

    def encode_message(self, message: object) -> Any:
        """Run by the server: a message to a party."""
        if message is not None:
            raise InvalidInput("message_form_missing", name=type(self).__name__)

    def decode_message(self, facts: PublicFacts[P], content: Any) -> object:
        """Run by the party: the next message of the server; `facts` knows those before it."""
        require(content is None, "message", "none", content)
        return None

    def published_prefixes(self, facts: PublicFacts[P]) -> Codes | None:
        """Run by the server: what a party's list must grow from by the newest message; None: the party chooses."""
        return None

    @property
    def writes_uploads(self) -> bool:
        """Return whether an upload that is not a party's last can be written."""
        return type(self).encode_upload is not WireForm.encode_upload

    def encode_upload(self, facts: PublicFacts[P], upload: Upload) -> Any:
        """Run by the party: an upload that is not its last."""
        raise InvalidInput("upload_form_missing", name=type(self).__name__)

    def decode_upload(self, facts: PublicFacts[P], content: Any) -> Upload:
        """Run by the server: the answer to the newest message, which is not the party's last."""
        raise InvalidInput("upload_form_missing", name=type(self).__name__)

    def encode_findings(self, facts: PublicFacts[P], findings: Findings) -> Any:
        """Run by the party: its last upload."""
        return {"counted": encode_counts(findings.heavy_hitters), "pruning": {}}

    def decode_findings(self, facts: PublicFacts[P], content: Any) -> Findings:
        """Run by the server: a party's last upload."""
        fields = record("last upload", content, {"counted", "pruning"})
        counted = decode_counts(facts, facts.last_level, fields["counted"])
        record("pruning lists", fields["pruning"], set())
        return Findings(counted)
