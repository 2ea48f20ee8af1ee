"""What the answers of earlier weeks give to the query of the next: public, and part of its list or its settings.

A name that was found is counted again. Where names are hashes under a key of the week, their texts join the list that
names are read from. Where codes stay the same, they are seeds of the mechanism.
"""

from dataclasses import dataclass, replace

from treetop.encoding.item_codecs import ItemCatalogue
from treetop.mechanisms.query import Query
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.seeds import NO_SEEDS, SEEDS, Seeds

SOURCE = "the answers of earlier weeks"


@dataclass(frozen=True)
class EarlierWeeks:
    """The names that were found, those of the newest answer first, or the seeds of the week before."""

    names: tuple[str, ...] = ()
    seeds: Seeds = NO_SEEDS

    def followed_by(self, ranking: GlobalRanking) -> "EarlierWeeks":
        """Return what is known after one week more; every week counts the seeds again, so the newest are enough."""
        read = () if ranking.texts is None else [text for text in ranking.texts.tolist() if text is not None]
        names = dict.fromkeys([*(text.text.decode("utf-8", errors="replace") for text in read), *self.names])
        return EarlierWeeks(tuple(names)[:SEEDS], ranking.seeds)

    def asking(self, query: Query) -> Query:
        """Return the next week's query."""
        if self.seeds:
            query = replace(query, settings={**query.settings, "seeds": str(self.seeds)})
        if not self.names:
            return query
        return replace(query, word_list=self.joined_to(query.word_list))

    def joined_to(self, words: ItemCatalogue | None) -> ItemCatalogue:
        """Return the names before the words of a list; they are in order of popularity if the words are."""
        if words is None:
            return ItemCatalogue(self.names, ordered=True, source=SOURCE)
        items = tuple(dict.fromkeys([*self.names, *words.items]))
        return replace(words, items=items, source=f"{SOURCE} and {words.source}")
