"""The keys of every answer, and an answer of a deployment in which everything happened that can."""

from treetop.answers import parts
from treetop.answers.answer import Answer
from treetop.privacy.shuffling import CentralGuarantee
from treetop.wording import Note

KEYS = [
    "schema", "mechanism", "oracle", "encoding", "k", "epsilon", "seed", "items", "parties", "notes", "choices",
    "missing", "truth", "mode", "task", "name", "covered", "levels", "privacy", "fakes_needed", "outside",
    "items_per_user", "reading",
]  # fmt: skip
"""Of the JSON form, in their order; an answer of a campaign has one more."""
DEPLOYED = Answer(
    mechanism="taps",
    oracle="olh",
    encoding="words",
    k=2,
    epsilon=0.5,
    seed=None,
    items=(
        parts.AnswerItem(
            "chai",
            900.5,
            0.3,
            40.0,
            True,
            by_party=(parts.PartyCount("harbour", 850.0, 30.0), parts.PartyCount("market", 50.5, 26.5)),
        ),
        parts.AnswerItem("#0f", -20.0, -0.01, 41.0, False, "unknown"),
    ),
    parties=(
        parts.AnswerParty("harbour", 2000, 1200, share=2 / 3, expected=2000, coverage=1.0, central=None),
        parts.AnswerParty(
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
    notes=(Note("at_party", party="market", note=Note("names_left_out", least=500)),),
    choices=(Note("names_from_list", source="words.txt", words=900, ordered=True),),
    missing=(parts.MissingParty("airport", "withdrew: closed", 2, 750),),
    mode="one-shot",
    task="ab" * 32,
    name="favourite drink",
    covered=parts.Covered(3000, "expected", 4000, 0.75),
    levels=6,
    privacy=parts.Privacy("0.5", 1, "olh", "docs/explanation/privacy_guarantee.md"),
    fakes_needed=120,
    outside=parts.OutsideShare(0.25, 0.01),
    truth=parts.Truth(0.5, 0.75),
    campaign=parts.CampaignPlace(
        "cd" * 32,
        1,
        3,
        parts.Refusals(not_my_week=7),
        2,
        (parts.ItemChange("chai", "up", 4.5), parts.ItemChange("#0f", None, None)),
    ),
)
