"""An answer of a deployment in which much happened."""

from treetop.privacy.shuffling import CentralGuarantee
from treetop.query.answer import Answer
from treetop.query.answer_parts import (
    AnswerItem,
    AnswerParty,
    CampaignPlace,
    Covered,
    ItemChange,
    MissingParty,
    OutsideShare,
    PartyCount,
    Privacy,
    Refusals,
    Truth,
)

DEPLOYED = Answer(
    mechanism="taps",
    oracle="olh",
    encoding="words",
    k=2,
    epsilon=0.5,
    seed=None,
    items=(
        AnswerItem(
            "chai",
            900.5,
            0.3,
            40.0,
            True,
            by_party=(PartyCount("harbour", 850.0, 30.0), PartyCount("market", 50.5, 26.5)),
        ),
        AnswerItem("#0f", -20.0, -0.01, 41.0, False, "unknown"),
    ),
    parties=(
        AnswerParty("harbour", 2000, 1200, share=2 / 3, expected=2000, coverage=1.0, central=None),
        AnswerParty(
            "market",
            1000,
            900,
            implausible=7,
            share=1 / 3,
            expected=1250,
            coverage=0.8,
            central=CentralGuarantee(0.08, 1e-8),
        ),
    ),
    notes=("party 'market': the group of level 3 is small",),
    choices=("6 levels",),
    missing=(MissingParty("airport", "withdrew: closed", 2, 750),),
    mode="one-shot",
    task="ab" * 32,
    name="favourite drink",
    covered=Covered(3000, "expected", 4000, 0.75),
    levels=6,
    privacy=Privacy("0.5", 1, "olh", "docs/explanation/privacy_guarantee.md"),
    fakes_needed=120,
    outside=OutsideShare(0.25, 0.01),
    truth=Truth(0.5, 0.75),
    campaign=CampaignPlace(
        "cd" * 32, 1, 3, Refusals(not_my_week=7), 2, (ItemChange("chai", "up", 4.5), ItemChange("#0f", None, None))
    ),
)
