"""Checks of reports of sets: the exact law of small sets, read from the shipped face, and what many reports show.

A user's value is her whole set. So any two sets are compared: the empty one, small and large ones, sets whose items
have the same key, and items without a code. Key and seed are those of a toy family, and the ratio must hold for each of
them: given the key, the chosen items T are fixed, and a mixture over keys has no larger ratio.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from math import exp, log

from treetop.adapters.system.host import SystemEntropy
from treetop.audit.checks import Cases, Check, Odds, tight, within
from treetop.audit.empirical_epsilon import Counts, epsilon_bound, visible_excess
from treetop.audit.oracle_laws import BUDGETS, worst_odds
from treetop.oracles.protocol import NO_CODE_KEY
from treetop.oracles.set_reports import Held, SetFace, SetLocalHashing, SetOracle, SetWalshHashing
from treetop.privacy.budget import Budget

FORMS: tuple[type[SetOracle], ...] = (SetLocalHashing, SetWalshHashing)
FaceOf = Callable[[SetOracle, Budget], SetFace]
QUICK_ITEMS = (1, 2, 3)
ITEMS = (1, 2, 3, 8)
QUICK_BUCKETS = 40
MAX_BUCKETS = 500
"""Forms with more buckets are not enumerated: every bucket has its own interval for each number of items."""
TOY_SEEDS = 8
EMPIRICAL_ITEMS = 8
LAW_SEEDS = 500
"""Hashes over which the law of an event is averaged."""
MAX_EXCESS = 8.0
"""Upper end of the search for the excess that would be seen."""
EXCESS_STEP = 1e-3
"""Its precision: claims print three digits."""


def held(*keys: int) -> Held:
    """Return a set of items with these keys, equal ones by different items."""
    return {b"item %d" % index: key for index, key in enumerate(keys)}


def sets_of(m: int) -> tuple[Held, ...]:
    """Return sets around a limit of m items: two of m that share nothing, one of more, and the odd ones."""
    return (
        held(),
        held(1),
        held(1, 1),
        held(NO_CODE_KEY),
        held(2, NO_CODE_KEY, NO_CODE_KEY),
        held(*range(m)),
        held(*range(m, 2 * m)),
        held(*range(2 * m + 1)),
    )


def shipped_face(oracle: SetOracle, budget: Budget) -> SetFace:
    """Return the face that devices use."""
    return oracle.device(budget)


def set_cases(form: type[SetOracle], quick: bool, face_of: FaceOf = shipped_face) -> Cases:
    """Return the largest ratio for every budget and m with few enough buckets."""
    cases: list[tuple[Budget, Odds]] = []
    most = QUICK_BUCKETS if quick else MAX_BUCKETS
    for m in QUICK_ITEMS if quick else ITEMS:
        for budget in BUDGETS:
            face = face_of(form(m), budget)
            if face.slots <= most:
                cases.append((budget, worst_odds([face], sets_of(m), TOY_SEEDS)[0]))
    return cases


def exact_set_checks(form: type[SetOracle], quick: bool, face_of: FaceOf = shipped_face) -> list[Check]:
    """Check that no report is more than e^epsilon times likelier for one set than for another, and how close it is."""
    cases = set_cases(form, quick, face_of)
    name = form.name
    claim = f"{name}, sets of up to {max(QUICK_ITEMS if quick else ITEMS)} items and more: no ratio exceeds e^epsilon"
    return [within(f"exact_{name}_sets", claim, cases), tight(f"tight_{name}_sets", cases)]


def drawn_once_check(form: type[SetOracle], face_of: FaceOf = shipped_face, draws: int = 50) -> Check:
    """Check that a draw fixes the report: a device that reports again, even after a restart, covers the same items."""
    oracle = form(2)
    budget = Budget("2")
    value = held(*range(9))
    faces = face_of(oracle, budget), face_of(oracle, budget)
    changed = 0
    for _ in range(draws):
        draw = faces[0].draw(SystemEntropy())
        changed += len({face.report(draw.drawn, value) for face in (*faces, *faces)}) > 1
    claim = f"{form.name}: of {draws} draws, those that gave two different reports of one set"
    return Check(f"drawn_once_{form.name}_sets", changed == 0, claim, float(changed), 0.0)


def set_events(face: SetFace, value: Held, sets: tuple[Held, Held], trials: int) -> Counts:
    """Count how often the bytes of reports of a set support an item of each of two sets."""
    entropy = SystemEntropy()
    counts = Counter[Hashable]()
    for _ in range(trials):
        report = face.checked(face.encode(face.draw(entropy).report(value)))
        counts[tuple(any(face.supports(report, key) for key in keys.values()) for keys in sets)] += 1
    return counts


def telling_set_event(face: SetFace, sets: tuple[Held, Held], odds: float) -> tuple[float, float]:
    """Return how likely a report of each set supports an item of the first and none of the second, were e^eps `odds`.

    The average over the hashes of many seeds: items that share a bucket make it rarer, and h buckets instead of m make
    the others likelier.
    """
    t = face.slots
    own = odds / (face.items * odds + face.slots - face.items)
    p = 0.0
    q = 0.0
    for seed in range(LAW_SEEDS):
        first, second = ({face.single.hashed(seed, key) for key in keys.values()} for keys in sets)
        only = len(first - second)
        h = len(second)
        p += only * own / LAW_SEEDS
        q += only * (1 - h * own) / (t - h) / LAW_SEEDS
    return p, q


def empirical_set_check(form: type[SetOracle], trials: int, face_of: FaceOf = shipped_face) -> Check:
    """Check that reports of two sets without a common item, seen from outside, show no more than epsilon."""
    m = EMPIRICAL_ITEMS
    budget = Budget("1")
    sets = (held(*range(m)), held(*range(m, 2 * m)))
    face = face_of(form(m), budget)
    first, second = (set_events(face, value, sets, trials) for value in sets)
    bound = epsilon_bound(first, second, trials)
    power = visible_set_excess(form, budget, sets, trials)
    claim = (
        f"{form.name} devices with sets of {m}, {2 * trials:,} reports: epsilon shown at 99.9 % confidence; an excess "
        f"of {power:.3f} would be seen with 99.9 % power"
    )
    return Check(f"empirical_{form.name}_sets", bound <= budget.amount, claim, bound, float(budget.amount))


def visible_set_excess(form: type[SetOracle], budget: Budget, sets: tuple[Held, Held], trials: int) -> float:
    """Return how much more than epsilon a device with the same buckets must spend before its reports show it."""
    face = shipped_face(form(EMPIRICAL_ITEMS), budget)
    low = 0.0
    high = MAX_EXCESS

    # By bisection: p and q both change with the odds, so the excess has no closed form.
    def seen(excess: float) -> bool:
        p, q = telling_set_event(face, sets, float(face.odds) * exp(excess))
        return log(p / q) - visible_excess(p, q, trials) >= budget.amount

    while high - low > EXCESS_STEP:
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) else (middle, high)
    return high


def set_checks(quick: bool) -> list[Check]:
    """Check both forms of reports of sets."""
    return [
        check
        for form in FORMS
        for check in (
            *exact_set_checks(form, quick),
            drawn_once_check(form),
            empirical_set_check(form, 10_000 if quick else 300_000),
        )
    ]
