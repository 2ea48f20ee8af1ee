"""The command that gives a number of the report again."""

from collections.abc import Iterable, Sequence
from shlex import join

from treetop.reproduction.result_files import changed_settings
from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Planned


def commands_for(planned: Sequence[Planned], reproduction: Reproduction, specification: str) -> list[str]:
    """Return the commands that run some cells again, one for all cells of the same data, oracle and settings."""
    if any(each.variant.share != 1 for each in planned):
        return [_reproduce(reproduction, specification)]
    groups: dict[tuple[object, ...], list[Planned]] = {}
    for each in planned:
        settings = tuple(changed_settings(each.cell.parameters).items())
        groups.setdefault((each.variant, each.cell.parameters.oracle_name, settings), []).append(each)
    return [_evaluate(group, reproduction) for group in groups.values()]


def _evaluate(group: Sequence[Planned], reproduction: Reproduction) -> str:
    variant = group[0].variant
    parameters = group[0].cell.parameters
    found = reproduction.provenances[variant.federation]
    settings = reproduction.settings
    words = ["treetop", "evaluate", found.word(variant.draw, variant.concentration)]
    words += ["--mechanisms", _listed(each.cell.mechanism.name for each in group)]
    words += ["--epsilons", _listed(f"{each.cell.parameters.epsilon:g}" for each in group)]
    words += ["--ks", _listed(str(each.cell.parameters.k) for each in group)]
    words += ["--oracles", parameters.oracle_name, "--encoding", found.encoding]
    for name, value in changed_settings(parameters).items():
        words += ["--set", f"{name}={value}"]
    return join([*words, "--repeats", str(settings.repeats), "--seed", str(settings.seed)])


def _reproduce(reproduction: Reproduction, specification: str) -> str:
    settings = reproduction.settings
    words = ["treetop", "reproduce", specification, "--data", str(reproduction.data), "--output", "again"]
    return join([*words, "--repeats", str(settings.repeats), "--seed", str(settings.seed)])


def _listed(values: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(values))
