"""Does the model solve the task? Nothing else can be asked of its answers where it does not."""

from functools import partial

from numberline.claims.claim import Claim, Criterion
from numberline.claims.evidence import Evidence, Quantity


def accuracy(population: str, evidence: Evidence) -> Quantity:
    """Accuracy of the whole answer on a population of behaviour.pairs."""
    return evidence.one("behaviour.pairs", "accuracy", population=f"{evidence.language.adjective} {population}")


claim = Claim(
    id="solves",
    order=1,
    sentence="The model solves the task.",
    figures=("app-behaviour",),
    criteria=tuple(
        Criterion(
            f"accuracy on {{adjective}} {population}",
            partial(accuracy, population),
            "at least",
            0.9,
            "what is scored as a changed answer must not be a mistake: fewer than one in ten",
            key=population,
        )
        for population in ("pairs", "triples")
    ),
    holds="{model} names the right {noun} for {pairs:1%} of pairs and {triples:1%} of triples.",
    fails="The model does not solve the task: what a patch does to its answers says little.",
    broken_by=("unsolving",),
    effect="pairs",
)
