"""Which claims are there? All that are declared, in the order of the ledger.

A new claim is a `Claim` in a file of `two/` or `three/`: nothing else names it. Questions that go beyond the paper,
with answers of their own, are in `beyond/`.
"""

from collections.abc import Mapping

from numberline.claims.claim import Claim
from numberline.claims.question import Question
from numberline.discovery import by_name, declared

FOLDERS = ("numberline.claims.two", "numberline.claims.three")
CLAIMS: Mapping[str, Claim] = by_name(
    sorted(declared(Claim, *FOLDERS), key=lambda claim: claim.order), lambda claim: claim.id
)
QUESTIONS: Mapping[str, Question] = by_name(
    sorted(declared(Question, "numberline.claims.beyond"), key=lambda question: question.order),
    lambda question: question.id,
)
