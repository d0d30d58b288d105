"""When does a claim hold? One rule for all of them, on intervals rather than point values.

1. A claim is made of measurements. Each has a threshold, a direction (at least, at most) and the reason for both.
2. A measurement *holds* when its whole interval is on the right side of the threshold, *fails* when its whole interval
   is on the other side, and is *undecided* where the threshold lies inside. One that cannot be made is *not tested*.
3. A claim *fails* when any of its measurements fails, whatever else is known. Else it is *not tested* when one could
   not be made, *holds* when all hold, and is *undecided* otherwise.
4. Where a role was not found, what depends on it cannot be measured. The claims of the paper's algorithm therefore also
   ask the causal trace, which every model has, whether the number is where they say it is: if it is not, they fail.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity, Stored

Verdict = Literal["holds", "fails", "undecided", "not tested"]
STRONGEST_FIRST: tuple[Verdict, ...] = ("fails", "not tested", "undecided", "holds")
Direction = Literal["at least", "at most"]


@dataclass(frozen=True)
class Test:
    """One measurement as it is declared: what is measured, the threshold, and why that one."""

    __test__ = False  # not one of pytest's
    name: str
    measure: Callable[[Evidence], Quantity]
    direction: Direction
    threshold: float
    reason: str


@dataclass(frozen=True)
class Declared:
    """One statement of the paper as it is declared: its sentence, its figures, its tests."""

    id: str
    sentence: str
    figures: tuple[str, ...]
    tests: tuple[Test, ...]


@dataclass(frozen=True)
class Measurement:
    """A test and what it gave on a run; without value where it could not be made, and `why` says why."""

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

    @property
    def words(self) -> str:
        """The measurement in words: IIA of u 0.94 [0.91, 0.96], at least 0.50."""
        if self.value is None or self.lo is None or self.hi is None:
            return f"{self.name}: {self.why}"
        interval = "" if self.lo == self.hi else f" [{spell(self.lo)}, {spell(self.hi)}]"
        return f"{self.name} {spell(self.value)}{interval}, {self.direction} {spell(self.threshold)} asked"


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, tested on a run."""

    id: str
    sentence: str
    figures: tuple[str, ...]
    measurements: tuple[Measurement, ...]
    verdict: Verdict
    why: str

    @property
    def content(self) -> dict[str, Any]:
        """The claim as claims.json holds it."""
        return asdict(self)


def judge(measured: Quantity, direction: Direction, threshold: float) -> Verdict:
    """Where an interval lies beside a threshold."""
    if direction == "at least":
        return "holds" if measured.lo >= threshold else "fails" if measured.hi < threshold else "undecided"
    return "holds" if measured.hi <= threshold else "fails" if measured.lo > threshold else "undecided"


def combine(measurements: tuple[Measurement, ...]) -> Verdict:
    """The verdict of a claim from those of its measurements."""
    found = {measurement.verdict for measurement in measurements}
    return next((verdict for verdict in STRONGEST_FIRST if verdict in found), "not tested")


def measure(test: Test, evidence: Evidence) -> Measurement:
    """Make one measurement, or say why it cannot be made."""
    asked = (test.direction, test.threshold, test.reason)
    try:
        found = test.measure(evidence)
    except NotMeasuredError as error:
        return Measurement(test.name, None, None, None, 0, *asked, "not tested", str(error))
    except KeyError as column:
        why = f"a result has no column {column}: it was made by another version, run it again"
        return Measurement(test.name, None, None, None, 0, *asked, "not tested", why)
    verdict = judge(found, test.direction, test.threshold)
    return Measurement(test.name, found.value, found.lo, found.hi, found.n, *asked, verdict)


def decide(declared: Declared, results: Mapping[str, Stored]) -> Claim:
    """Test one claim on a run's results."""
    measurements = tuple(measure(test, Evidence(results)) for test in declared.tests)
    verdict = combine(measurements)
    decisive = [measurement for measurement in measurements if measurement.verdict == verdict]
    # The same reason may stop several measurements: it is said once.
    reasons = dict.fromkeys(each.why if verdict == "not tested" else each.words for each in decisive)
    return Claim(declared.id, declared.sentence, declared.figures, measurements, verdict, "; ".join(reasons))


def spell(number: float) -> str:
    """A number as the ledger writes it."""
    text = f"{number:.2f}"
    return text.replace("-", "−") if float(text) != 0 else "0.00"
