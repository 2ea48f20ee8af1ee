"""What TAP sends: the counts of a party's shallow trie, then C_{g_s} from the server, then heavy hitters."""

from typing import TYPE_CHECKING, Any, TypeVar, cast

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Upload
from treetop.mechanisms.public_facts import PublicFacts, decode_counts, encode_counts
from treetop.mechanisms.strict_json import MESSAGE_HEAD, code_bytes, code_texts, codes, record, require
from treetop.mechanisms.wire.form import WireForm
from treetop.trie.support import Support

if TYPE_CHECKING:
    from treetop.mechanisms.tap import TapParameters

T = TypeVar("T", bound="TapParameters")


class SharedTrieWire(WireForm[T]):
    """The first upload of a party is its shallow trie, where one is shared."""

    def uploads(self, parameters: T) -> int:
        """Return 2 where a trie is shared."""
        return 2 if parameters.is_shared else 1

    def max_message_bytes(self, parameters: T) -> int:
        """Return the bytes of C_{g_s}: its k prefixes."""
        return MESSAGE_HEAD + max(parameters.k, parameters.least_kept) * code_bytes(parameters.bits)

    def encode_upload(self, facts: PublicFacts[T], upload: Upload) -> Any:
        """Run by the party: the counts of level g_s."""
        assert isinstance(upload, Support)  # noqa: S101  what `shallow_trie` sends
        return encode_counts(upload)

    def decode_upload(self, facts: PublicFacts[T], content: Any) -> Support:
        """Run by the server: the counts of level g_s."""
        return decode_counts(facts, facts.parameters.shared_levels, content)


class TapWire(SharedTrieWire["TapParameters"]):
    """The server's one message is C_{g_s}, or nothing where a party goes on from its own trie."""

    def encode_message(self, message: object) -> Any:
        """Run by the server: C_{g_s}, or nothing."""
        return None if message is None else {"shared": code_texts(cast(Codes, message))}

    def decode_message(self, facts: PublicFacts["TapParameters"], content: Any) -> Codes | None:
        """Run by the party: C_{g_s} in answer to its shallow trie, or nothing."""
        if content is None:
            return None
        parameters = facts.parameters
        length = parameters.lengths[parameters.shared_levels]
        prefixes = record("message", content, {"shared"})["shared"]
        shared = codes("shared prefixes", prefixes, length, parameters.bits, least=1)
        require(parameters.is_shared and len(facts.messages) == 1, "message", "none but after a shallow trie", content)
        return shared
