"""Exact checks: the ratio of output probabilities, from the shipped integers, against e^epsilon."""

from collections.abc import Iterable

from treetop.audit import bits_laws, hash_laws, slot_laws
from treetop.audit.audit_report import Check
from treetop.audit.exact_ratios import TIGHT, Cases, Odds, within
from treetop.federation.samplers import BitsSampler, HashSampler, SlotSampler
from treetop.privacy.budget import Budget

BUDGETS = tuple(Budget(text) for text in ("0.1", "0.5", "1", "2", "3", "4", "5", "8", "16"))
UNARY_SIZES = range(2, 9)
MANY_BUCKETS = 1000


def slot_sizes(quick: bool) -> tuple[int, ...]:
    """Return the d of the k-RR check: 2 .. 321, 1025 and 4097, or those that take seconds."""
    return (*range(2, 258), 321, 1025) if quick else (*range(2, 322), 1025, 4097)


def tight(name: str, cases: Cases) -> Check:
    """Check that every ratio comes within 2^-40 of e^epsilon: the noise is no larger than promised."""
    gap = max(-odds.excess(budget) for budget, odds in cases)
    claim = f"{len(cases)} ratios are at least (1 - 2^-40) e^epsilon"
    return Check(name, all(odds.tight(budget) for budget, odds in cases), claim, gap, float(TIGHT))


def slot_cases(factory: slot_laws.SamplerFactory, sizes: Iterable[int]) -> Cases:
    """Return the largest ratio of k-RR for every size and budget."""
    return [case for slots in sizes for case in slot_laws.worst_odds(factory, BUDGETS, slots)]


def krr_checks(quick: bool, factory: slot_laws.SamplerFactory = SlotSampler) -> list[Check]:
    """Check k-RR from every byte that its sampler can draw."""
    cases = slot_cases(factory, slot_sizes(quick))
    sizes = "2..257, 321, 1025" if quick else "2..321, 1025, 4097"
    claim = f"k-RR, d = {sizes}, {len(BUDGETS)} budgets: no output ratio exceeds e^epsilon"
    return [within("exact_krr", claim, cases), tight("tight_krr", cases)]


def oue_checks(factory: bits_laws.SamplerFactory = BitsSampler) -> list[Check]:
    """Check OUE over all outputs of up to 8 positions."""
    cases = [(budget, bits_laws.worst_odds(factory, budget, slots)) for slots in UNARY_SIZES for budget in BUDGETS]
    claim = "OUE, d = 2..8 with the dummy, 9 budgets: no ratio over all 2^d outputs exceeds e^epsilon"
    return [within("exact_oue", claim, cases), tight("tight_oue", cases)]


def olh_checks(quick: bool, factory: hash_laws.SamplerFactory = HashSampler) -> list[Check]:
    """Check OLH over a toy family of seeds; the budgets with thousands of buckets get one seed."""
    cases: list[tuple[Budget, Odds]] = []
    for budget in BUDGETS:
        many = factory(budget).slots > MANY_BUCKETS
        if not (many and quick):
            cases.append((budget, hash_laws.worst_odds(factory, budget, 1 if many else 16)))
    claim = f"OLH, {len(cases)} budgets, every seed of a toy family: no ratio over all reports exceeds e^epsilon"
    return [within("exact_olh", claim, cases), tight("tight_olh", cases)]
