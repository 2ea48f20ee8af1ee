"""What `import treetop` offers, and whether the examples in its docstrings are true."""

import doctest
import subprocess
import sys
from importlib import import_module

import pytest

import treetop
from treetop import mechanisms, oracles
from treetop.encoding.item_codecs import ItemCodec
from treetop.mechanisms.protocol import Mechanism
from treetop.oracles.protocol import Oracle

WITH_EXAMPLES = ("find", "evaluate", "load", "plan", "synthetic")


def test_the_package_offers_its_api_lazily() -> None:
    assert treetop.__version__
    assert dir(treetop) == sorted([*treetop.__all__, "__version__"])
    assert all(getattr(treetop, name) for name in treetop.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        treetop.nothing  # noqa: B018


def test_what_other_packages_extend_is_public() -> None:
    assert (treetop.Mechanism, treetop.Oracle, treetop.Encoding) == (Mechanism, Oracle, ItemCodec)
    for front_door in (mechanisms, oracles):
        assert front_door.__all__ == sorted(front_door.__all__)
        assert all(hasattr(front_door, name) for name in front_door.__all__)


@pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")
@pytest.mark.parametrize("name", ["treetop", *(f"treetop.{name}" for name in WITH_EXAMPLES)])
def test_the_examples_of_docstrings_are_true(name: str) -> None:
    documented = treetop if name == "treetop" else getattr(treetop, name.removeprefix("treetop."))
    globals_ = vars(import_module(getattr(documented, "__module__", "treetop")))
    tests = doctest.DocTestFinder(recurse=False).find(documented, name, globs=dict(globals_))
    assert sum(len(test.examples) for test in tests) >= 2
    runner = doctest.DocTestRunner()
    for test in tests:
        report: list[str] = []
        runner.run(test, out=report.append)
        assert not report, "".join(report)


def test_values_show_themselves_in_one_short_line() -> None:
    data = {"a": {"1": 300, "2": 200}, "b": {"1": 100}}
    federation = treetop.synthetic()
    shown = [
        repr(value)
        for value in (
            federation,
            treetop.find(data, k=1, epsilon=8, encoding="ids", seed=1),
            treetop.evaluate(data, mechanisms=["gtf"], ks=[1], encoding="ids", repeats=1, seed=1),
            treetop.plan([1000]),
        )
    ]
    assert shown[0] == "Federation('syn': 8 parties, 780,000 users, 42,000 items)"
    assert shown[1] == "Answer(panorama, auto oracle, ids, k = 1, ε = 8, seed 1: 1)"
    assert all(len(text) < 250 and "\n" not in text for text in shown)


def test_an_answer_loads_no_extra_and_no_compiler() -> None:
    """Whoever asks a question pays for that: plots, services and counting loops load where they are used."""
    program = (
        "import sys, warnings, treetop; warnings.simplefilter('ignore');"
        "treetop.find({'a': {'1': 900, '2': 100}}, k=1, seed=1); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded.isdisjoint({"matplotlib", "numba", "jinja2", "fastapi", "uvicorn", "cryptography", "psycopg"})
