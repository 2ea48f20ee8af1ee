"""What the paper says of its results, as data that a rule can decide."""

from dataclasses import dataclass, field

from treetop.errors import UnknownName

RULES = ("greater", "gain_grows", "best_differs")


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper.

    greater: at every place the series `greater` exceeds the best of `than`, by the share `margin` at least.
    gain_grows: `greater` minus `than` is larger in the case `case` than in the case `over`.
    best_differs: no one of the series `than` is among the best in all federations.
    """

    text: str
    line: int
    metric: str
    than: tuple[str, ...]
    greater: str = ""
    rule: str = "greater"
    than_metric: str = ""
    """Compare with another metric of the series in `than`."""
    margin: float = 0.0
    federations: tuple[str, ...] = ()
    epsilons: tuple[float, ...] = ()
    ks: tuple[int, ...] = ()
    case: str = ""
    over: str = ""
    remark: str = ""
    unchecked: str = field(default="")
    """Why no run of ours can decide it."""

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise UnknownName("rule of a claim", self.rule, RULES)
