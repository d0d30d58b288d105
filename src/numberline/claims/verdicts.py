"""When does a claim hold? One rule for all of them, on intervals rather than point values.

1. A claim asks for measurements. Each has a threshold, a direction (at least, at most) and the reason for both.
2. A measurement *holds* when its whole interval is on the right side of the threshold, *fails* when its whole interval
   is on the other side, and is *undecided* where the threshold lies inside. One that cannot be made is *not tested*.
3. A claim *fails* when any of its measurements fails, whatever else is known. Else it is *not tested* when one could
   not be made, *holds* when all hold, and is *undecided* otherwise. Measurements that only stand beside do not count.
4. An undecided measurement says how many examples would decide it, if its value stayed what it is: intervals narrow
   with the root of the number of examples, so n × (half-width on the threshold's side / distance to it)².
5. Where a role was not found, what depends on it cannot be measured. The claims of the paper's algorithm therefore also
   ask the causal trace, which every model has, whether the number is where they say it is: if it is not, they fail.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from numberline.claims.claim import Claim, Criterion, Direction
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity
from numberline.results.formatting import count, number, percent, with_interval

Verdict = Literal["holds", "fails", "undecided", "not tested"]
STRONGEST_FIRST: tuple[Verdict, ...] = ("fails", "not tested", "undecided", "holds")


@dataclass(frozen=True)
class Measurement:
    """A criterion and what was measured for it on a run; without value where nothing could be, and `why` says why."""

    name: str
    value: float | None
    lo: float | None
    hi: float | None
    n: int
    direction: Direction
    threshold: float
    reason: str
    verdict: Verdict
    why: str = ""
    not_run: str | None = None
    """The experiment that was not run, where that is why."""
    counted: bool = True
    """Whether it decides the claim."""
    needed: int | None = None
    """How many examples would decide it, where it is undecided; none where its value is at the threshold."""

    @property
    def words(self) -> str:
        """The measurement in words: IIA of u 0.94 [0.91, 0.96], at least 0.50 asked."""
        if self.value is None:
            return f"{self.name}: {self.why}"
        more = f" (n = {count(self.n)}; about {count(self.needed)} would decide it)" if self.needed else ""
        return f"{self.name} {self}, {self.direction} {number(self.threshold)} asked{more}"

    def __str__(self) -> str:
        """0.94 [0.91, 0.96]; a dash where it was not measured."""
        return with_interval(self.value, self.lo, self.hi)

    def __format__(self, form: str) -> str:
        """As in the sentence of a claim: with its interval, or (1%) as a percentage with so many digits."""
        return percent(self.value, int(form.removesuffix("%"))) if form else str(self)


@dataclass(frozen=True)
class Finding:
    """A claim, tested on a run."""

    claim: Claim
    measurements: tuple[Measurement, ...]
    verdict: Verdict
    why: str
    effect: str = ""
    """The effect's size beside the paper's, in words; nothing where the paper has none for it."""

    @property
    def id(self) -> str:
        """The claim's."""
        return self.claim.id

    @property
    def not_run(self) -> frozenset[str]:
        """The experiments without which it could not be tested; none where it was."""
        untested = self.measurements if self.verdict == "not tested" else ()
        return frozenset(each.not_run for each in untested if each.not_run is not None)

    @property
    def content(self) -> dict[str, Any]:
        """As claims.json holds it."""
        return {
            "id": self.claim.id,
            "sentence": self.claim.sentence,
            "figures": self.claim.figures,
            "measurements": [asdict(measurement) for measurement in self.measurements],
            "verdict": self.verdict,
            "why": self.why,
            "effect": self.effect,
        }

    def told(self, words: Mapping[str, str]) -> str:
        """The sentence of a claim that holds, with what was measured and with this run's words."""
        keys = [criterion.key for criterion in self.claim.criteria]
        return self.claim.holds.format_map({**words, **dict(zip(keys, self.measurements, strict=True))})


def judge(measured: Quantity, direction: Direction, threshold: float) -> Verdict:
    """Where an interval lies beside a threshold."""
    if direction == "at least":
        return "holds" if measured.lo >= threshold else "fails" if measured.hi < threshold else "undecided"
    return "holds" if measured.hi <= threshold else "fails" if measured.lo > threshold else "undecided"


def combine(measurements: tuple[Measurement, ...]) -> Verdict:
    """The verdict of a claim from those of its measurements that count."""
    found = {measurement.verdict for measurement in measurements if measurement.counted}
    return next((verdict for verdict in STRONGEST_FIRST if verdict in found), "not tested")


def measure(criterion: Criterion, evidence: Evidence) -> Measurement:
    """Make one measurement, or say why it cannot be made."""
    asked = (criterion.direction, criterion.threshold, criterion.reason)
    try:
        found = criterion.measure(evidence)
    except NotMeasuredError as error:
        return Measurement(
            criterion.name,
            *(None, None, None, 0),
            *asked,
            "not tested",
            str(error),
            error.not_run,
            criterion.counted,
        )
    verdict = judge(found, criterion.direction, criterion.threshold)
    needed = examples_needed(found, criterion.threshold) if verdict == "undecided" else None
    values = (found.value, found.lo, found.hi, found.n)
    return Measurement(criterion.name, *values, *asked, verdict, counted=criterion.counted, needed=needed)


def examples_needed(found: Quantity, threshold: float) -> int | None:
    """How many examples would put the whole interval on one side, were the value to stay; none at the threshold."""
    distance = found.value - threshold
    half = found.value - found.lo if distance > 0 else found.hi - found.value
    return math.ceil(found.n * (half / distance) ** 2) if distance else None


def decide(claim: Claim, evidence: Evidence) -> Finding:
    """Test one claim on a run's results."""
    claim = claim.spoken(evidence.language)
    measurements = tuple(measure(criterion, evidence) for criterion in claim.criteria)
    verdict = combine(measurements)
    decisive = [each for each in measurements if each.verdict == verdict and each.counted]
    # The same reason may stop several measurements: it is said once.
    reasons = dict.fromkeys(each.why if verdict == "not tested" else each.words for each in decisive)
    return Finding(claim, measurements, verdict, "; ".join(reasons))
