"""What is asked where nobody says otherwise is the same, whoever asks."""

from inspect import signature
from typing import Any

import pytest
from tests.support.orders import query_order
from typer.main import get_command

import treetop
from treetop.cli.commands import assembled
from treetop.mechanisms.defaults import DEFAULT_BUDGET, DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.query import Query
from treetop.services.local.folder import LocalOptions
from treetop.services.server.schemas import QuestionWanted
from treetop.web.question_form import AskedQuestion


def test_epsilon_is_two_and_k_ten() -> None:
    assert (DEFAULT_K, DEFAULT_EPSILON, DEFAULT_BUDGET) == (10, 2.0, "2")


def test_python_takes_them() -> None:
    assert (Query().k, Query().epsilon, Query().mechanism) == (DEFAULT_K, DEFAULT_BUDGET, None)
    assert signature(treetop.find).parameters["k"].default == DEFAULT_K
    assert signature(treetop.plan).parameters["k"].default == DEFAULT_K
    grid = signature(treetop.evaluate).parameters
    assert (grid["ks"].default, grid["epsilons"].default) == ((DEFAULT_K,), (DEFAULT_EPSILON,))


def test_services_and_pages_take_them() -> None:
    for asked in (query_order("fruit", ("north",)).query, LocalOptions().asked(None)):
        assert asked == Query()
    fields = QuestionWanted.model_fields
    assert (fields["k"].default, fields["epsilon"].default) == (DEFAULT_K, DEFAULT_BUDGET)
    assert (AskedQuestion.k, AskedQuestion.epsilon) == (DEFAULT_K, DEFAULT_BUDGET)


@pytest.mark.parametrize("command", ["demo", "find", "plan", "evaluate", "up", "query"])
def test_commands_take_them_and_their_help_says_so(command: str) -> None:
    group: Any = get_command(assembled([command, "explain"]))  # two, so that there are commands at all
    told = {each.name: each for each in group.commands[command].params}
    for names, default in ((("k", "ks"), DEFAULT_K), (("epsilon", "epsilons"), DEFAULT_EPSILON)):
        option = next(told[name] for name in names if name in told)
        shown = option.show_default if isinstance(option.show_default, str) else option.default
        assert float(shown) == default, names
