"""Treetop: which items are most popular across all of us, when nobody may see what any single person holds?

>>> import treetop
>>> shops = treetop.load("examples/coffee_shops.csv")
>>> answer = treetop.find(shops, k=3, epsilon=4, seed=1)
>>> [row.item for row in answer.items]
['cappuccino', 'cocoa', 'chai']

The names below load on first use, so that importing a part of the package costs that part alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treetop.adapters.system.vectorised_device import perturb
    from treetop.answers.answer import Answer
    from treetop.datasets.federation import Federation
    from treetop.datasets.loading import load
    from treetop.datasets.synthetic import synthetic
    from treetop.encoding.item_codecs import ItemCodec as Encoding
    from treetop.errors import InvalidInput, TreetopError, TreetopWarning
    from treetop.evaluation.evaluate import Evaluation, evaluate
    from treetop.mechanisms.protocol import Mechanism
    from treetop.oracles.protocol import Oracle
    from treetop.planning.plan import Plan, plan
    from treetop.query.find import find

__all__ = [
    "Answer",
    "Encoding",
    "Evaluation",
    "Federation",
    "InvalidInput",
    "Mechanism",
    "Oracle",
    "Plan",
    "TreetopError",
    "TreetopWarning",
    "evaluate",
    "find",
    "load",
    "perturb",
    "plan",
    "synthetic",
]

_HOMES = {
    "Answer": "treetop.answers.answer",
    "Encoding": "treetop.encoding.item_codecs:ItemCodec",
    "Evaluation": "treetop.evaluation.evaluate",
    "Federation": "treetop.datasets.federation",
    "InvalidInput": "treetop.errors",
    "Mechanism": "treetop.mechanisms.protocol",
    "Oracle": "treetop.oracles.protocol",
    "Plan": "treetop.planning.plan",
    "TreetopError": "treetop.errors",
    "TreetopWarning": "treetop.errors",
    "evaluate": "treetop.evaluation.evaluate",
    "find": "treetop.query.find",
    "load": "treetop.datasets.loading",
    "perturb": "treetop.adapters.system.vectorised_device",
    "plan": "treetop.planning.plan",
    "synthetic": "treetop.datasets.synthetic",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("treetop-ldp")
    if name in _HOMES:
        module, _, known_as = _HOMES[name].partition(":")
        return getattr(import_module(module), known_as or name)
    raise AttributeError(f"module 'treetop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
