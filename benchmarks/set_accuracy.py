"""How well the most popular items of users with many items are found: sets against one item of each.

    python -m benchmarks.set_accuracy ../shared/data --runs 10

Sets are drawn from the histograms of three collections of words: 300,000 users, dealt to the parties in proportion;
the size of a set is lognormal with median 8 (sigma 1, 1 to 1,000), its items are drawn from the party's histogram with
replacement, and repeated ones merged. Every run has a seed, and with it a hash key, of its own. F1 is against the ten
items that most users hold, whatever a run estimates. A list has the words of the two other collections.
"""

import json
import warnings
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev

import numpy as np

import treetop
from treetop.datasets.federation import Federation, PartyItems
from treetop.datasets.party_split import proportional_sizes
from treetop.datasets.user_sets import UserSets

SETS = ("rdb_distinct", "ycm_distinct", "tys_distinct")
USERS, MEDIAN, SIGMA, LARGEST, K = 300_000, 8, 1.0, 1_000, 10
WAYS = {"sets of 8": 8, "one item": 1}


def federation_of_sets(histograms: Federation, users: int, seed: int) -> Federation:
    """Draw users with sets whose items come from every party's histogram."""
    randomness = np.random.default_rng(seed)
    parties = []
    for party, size in zip(
        histograms.parties, proportional_sizes([each.total for each in histograms.parties], users), strict=True
    ):
        sizes = np.clip(np.rint(randomness.lognormal(np.log(MEDIAN), SIGMA, size)), 1, LARGEST).astype(np.int64)
        drawn = randomness.choice(party.items, sizes.sum(), p=party.users / party.total).astype(np.int32)
        sets = UserSets.grouped(np.repeat(np.arange(size, dtype=np.int32), sizes), size, drawn, None)
        holders = np.bincount(sets.items, minlength=len(histograms.items))
        held = np.flatnonzero(holders)
        parties.append(PartyItems(party.name, held, holders[held], sets))
    return Federation(histograms.name, histograms.items, tuple(parties))


def most_held(federation: Federation, k: int) -> set[str]:
    """Return the items that most users hold."""
    holders = np.zeros(len(federation.items), dtype=np.int64)
    for party in federation.parties:
        np.add.at(holders, party.items, party.users)
    return {federation.items[place] for place in np.argsort(-holders, kind="stable")[:k]}


def rows(
    folder: Path, names: list[str], runs: int, epsilons: list[float], lists: list[bool]
) -> Iterator[dict[str, object]]:
    """Yield the mean F1 and its standard error of every collection, epsilon, list and way."""
    loaded = {name: treetop.load(folder / f"{name}.parquet") for name in SETS}
    for name in names:
        place = SETS.index(name)
        federation = federation_of_sets(loaded[name], USERS, seed=place)
        truth = most_held(federation, K)
        words = list(dict.fromkeys(word for other in SETS if other != name for word in loaded[other].items))
        for listed in lists:
            for epsilon in epsilons:
                for way, items in WAYS.items():
                    found = []
                    for run in range(runs):
                        answer = treetop.find(
                            federation, k=K, epsilon=epsilon, seed=1000 + run, items_per_user=items,
                            word_list=words if listed else None,
                        )  # fmt: skip
                        found.append(len(truth & {item.item for item in answer.items}) / K)
                    error = stdev(found) / runs**0.5 if runs > 1 else None
                    yield {
                        "data": name, "list": listed, "epsilon": epsilon, "way": way, "runs": runs,
                        "f1": round(mean(found), 3), "f1_se": None if error is None else round(error, 3),
                    }  # fmt: skip


def main() -> None:
    """Print a row of JSON for each cell as soon as it is done."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--data", default=",".join(SETS))
    parser.add_argument("--epsilons", default="1,2,4")
    parser.add_argument("--list", choices=("both", "yes", "no"), default="both")
    given = parser.parse_args()
    if not given.folder.is_dir():
        parser.error(f"expected a folder with {', '.join(SETS)} as Parquet files, found no folder {given.folder}")
    warnings.simplefilter("ignore")
    lists = {"both": [False, True], "yes": [True], "no": [False]}[given.list]
    epsilons = [float(text) for text in given.epsilons.split(",")]
    for row in rows(given.folder, given.data.split(","), given.runs, epsilons, lists):
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
