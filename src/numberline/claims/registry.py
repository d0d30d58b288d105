"""Which claims are there? All that are declared, in the order of the ledger.

A new claim is a `Claim` in a file of `two/` or `three/`: nothing else names it.
"""

from collections.abc import Mapping

from numberline.claims.claim import Claim
from numberline.discovery import by_name, declared

FOLDERS = ("numberline.claims.two", "numberline.claims.three")
CLAIMS: Mapping[str, Claim] = by_name(
    sorted(declared(Claim, *FOLDERS), key=lambda claim: claim.order), lambda claim: claim.id
)
