"""What a query is told: settings are fields, read from text or Python values, with the paper's symbol beside each.

`Parameters` holds what every mechanism is given. A mechanism adds settings by subclassing it: the fields of its own
class are what `--set` accepts for it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Any, ClassVar, Self, TypeVar

from treetop.encoding.bit_strings import LONGEST, SHORTEST
from treetop.encoding.item_codecs import DEFAULT_HASH_KEY
from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO, LISTED, checked_oracle, oracle_named
from treetop.privacy.epsilon import Epsilon


@dataclass(frozen=True)
class Setting:
    """One named parameter that `--set` reaches."""

    symbol: str
    help: str
    expects: str
    read: Callable[[Any], Any]
    """Return the value, or raise ValueError or TypeError."""

    def parse(self, name: str, value: object) -> Any:
        """Return the setting's value, or say what was expected and what was found."""
        try:
            return self.read(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput("setting_invalid", name=name, expects=self.expects, value=value) from None


def setting(default: Any, symbol: str, help: str, reader: tuple[str, Callable[[Any], Any]]) -> Any:  # noqa: A002
    """Declare a dataclass field that is a setting."""
    return field(default=default, metadata={"setting": Setting(symbol, help, *reader)})


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def whole_number(least: int, most: int) -> tuple[str, Callable[[Any], int]]:
    """Read an integer in a range."""

    def read(value: Any) -> int:
        _require(not isinstance(value, bool))
        number = int(value)
        _require((isinstance(value, str) or number == value) and least <= number <= most)
        return number

    return f"a whole number from {least} to {most}", read


def number(expects: str, accepts: Callable[[float], bool]) -> tuple[str, Callable[[Any], float]]:
    """Read a finite number that fulfils a condition."""

    def read(value: Any) -> float:
        _require(not isinstance(value, bool))
        found = float(value)
        _require(isfinite(found) and accepts(found))
        return found

    return expects, read


def choice(*names: str) -> tuple[str, Callable[[Any], str]]:
    """Read one of some names."""

    def read(value: Any) -> str:
        _require(value in names)
        return str(value)

    return "one of " + ", ".join(names), read


def yes_or_no() -> tuple[str, Callable[[Any], bool]]:
    """Read a truth value."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

    def read(value: Any) -> bool:
        _require(str(value).lower() in words)
        return words[str(value).lower()]

    return "true or false", read


def text(expects: str) -> tuple[str, Callable[[Any], str]]:
    """Read a string that is not empty."""

    def read(value: Any) -> str:
        _require(isinstance(value, str) and bool(value))
        return str(value)

    return expects, read


def code_bits(default: int) -> Any:
    """Declare the length of codes, the one setting whose default is not the same for all."""
    return setting(default, "m", "Bits of an item's code.", whole_number(SHORTEST, LONGEST))


@dataclass(frozen=True)
class Parameters:
    """What every mechanism is given; the defaults are those of the paper's section 7."""

    tiny: ClassVar[Mapping[str, object]] = {"bits": SHORTEST}
    """Settings that leave a user few possible answers: the audit enumerates them all."""

    k: int
    epsilon: Epsilon
    oracle: str | Oracle = AUTO

    bits: int = code_bits(48)
    hash_key: str = setting(DEFAULT_HASH_KEY, "", "Key of the hashed encoding.", text("a text that is not empty"))

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise InvalidInput("k_invalid", k=self.k)
        checked_oracle(self.oracle)
        object.__setattr__(self, "epsilon", Epsilon(self.epsilon))
        for name, known in self.settings().items():
            object.__setattr__(self, name, known.parse(name, getattr(self, name)))

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """Return the settings that this class has, by name."""
        return {each.name: each.metadata["setting"] for each in fields(cls) if "setting" in each.metadata}

    def with_settings(self, settings: Mapping[str, object]) -> Self:
        """Return these parameters with some settings changed, each parsed and checked."""
        known = self.settings()
        for name in settings:
            if name not in known:
                raise UnknownName("setting", name, known)
        return replace(self, **{name: known[name].parse(name, value) for name, value in settings.items()})

    def changed(self) -> dict[str, Any]:
        """Return the settings that are not the default."""
        usual = type(self)(self.k, self.epsilon, self.oracle)
        values = {name: getattr(self, name) for name in self.settings()}
        return {name: value for name, value in values.items() if value != getattr(usual, name)}

    @property
    def oracle_name(self) -> str:
        """Return the name of the oracle, or of the rule that chooses one."""
        return str(self.oracle)

    @property
    def asked_oracle(self) -> str | Oracle:
        """Return the oracle, or the rule that chooses one, in the form in which users are asked."""
        return self.oracle

    def oracle_reason(self, candidates: int) -> str:
        """Say why the oracle for that many candidates was taken."""
        if self.oracle not in {AUTO, LISTED}:
            return "as asked for"
        size = candidates + 1
        turn = 3 * self.epsilon.odds + 2
        return f"{size:,} slots are {'fewer' if size < turn else 'not fewer'} than 3e^ε + 2 = {turn:.4g}"

    def oracle_for(self, candidates: int) -> FrequencyOracle[Any]:
        """Return the frequency oracle for a domain of that many candidates and the dummy."""
        return oracle_named(self.asked_oracle, self.epsilon, candidates)


P = TypeVar("P", bound=Parameters)
