"""Treetop: which items are most popular across all of us, when nobody may see what any single person holds?

The names below load on first use, so that importing a part of the package costs that part alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treetop.adapters.system.vectorised_device import perturb
    from treetop.datasets.federation import Federation
    from treetop.datasets.loading import load
    from treetop.datasets.synthetic import synthetic
    from treetop.errors import InvalidInput, TreetopError
    from treetop.evaluation.evaluate import evaluate
    from treetop.planning.plan import plan
    from treetop.query.answer import Answer
    from treetop.query.find import find

__all__ = [
    "Answer",
    "Federation",
    "InvalidInput",
    "TreetopError",
    "evaluate",
    "find",
    "load",
    "perturb",
    "plan",
    "synthetic",
]

_HOMES = {
    "Answer": "treetop.query.answer",
    "Federation": "treetop.datasets.federation",
    "InvalidInput": "treetop.errors",
    "TreetopError": "treetop.errors",
    "evaluate": "treetop.evaluation.evaluate",
    "find": "treetop.query.find",
    "load": "treetop.datasets.loading",
    "perturb": "treetop.adapters.system.vectorised_device",
    "plan": "treetop.planning.plan",
    "synthetic": "treetop.datasets.synthetic",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("treetop")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'treetop' has no attribute {name!r}")
