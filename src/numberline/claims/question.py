"""What is a question beyond the paper? One with several possible answers, declared once like a claim:

    question = Question(
        id="line-or-manifold",
        order=1,
        asked="Does {model} compute with the line, or with the curve on which the {nouns} lie?",
        figures=("geometry-complement", …),
        measures=(Measure("rest", "recovery of everything but u, …", rest, "why it is asked"), …),
        answers=(Answer("line", "It computes with the line.", (("rest", "at most", 0.1), …)), …),
    )

1. Each measurement is made once, with its interval.
2. An answer asks for some of them to be at least or at most something; it is *given* when the whole interval of each is
   on that side, by the rule of the claims (verdicts.py). Answers exclude each other: no two can be given together.
3. Where none is given, the question is *undecided*, and the reason is what the answer that lacks least lacks. Where
   nothing could be measured, it is *not tested*.

Questions stand beside the paper's claims, and are not counted among them.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from numberline.claims.claim import Criterion, Direction
from numberline.claims.evidence import Evidence, Quantity
from numberline.claims.verdicts import Measurement, measure

UNDECIDED, NOT_TESTED = "undecided", "not tested"
Ask = tuple[str, Direction, float]
"""The key of a measurement, and where it has to be."""


@dataclass(frozen=True)
class Measure:
    """What is measured, and why."""

    key: str
    name: str
    measure: Callable[[Evidence], Quantity]
    reason: str


@dataclass(frozen=True)
class Answer:
    """One answer: its sentence, and what must be measured for it."""

    name: str
    sentence: str
    asks: tuple[Ask, ...]


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question with several answers. `order` is its place."""

    id: str
    order: int
    asked: str
    figures: tuple[str, ...]
    measures: tuple[Measure, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Found:
    """A question, put to a run: every measurement beside what each answer asks of it."""

    question: Question
    asked: str
    verdict: str
    sentence: str
    why: str
    asks: Mapping[str, tuple[Measurement, ...]]
    """By answer."""

    @property
    def id(self) -> str:
        """The question's."""
        return self.question.id

    @property
    def tested(self) -> bool:
        """Whether anything of it was measured."""
        return self.verdict != NOT_TESTED

    @property
    def measured(self) -> dict[str, str]:
        """What was measured, each once, by its name."""
        return {each.name: each.why or str(each) for asked in self.asks.values() for each in asked}

    @property
    def words(self) -> str:
        """The verdict in a line: line-or-manifold: line. It computes with the line …"""
        return f"{self.id}: {self.verdict}. {self.sentence or self.why}"

    @property
    def content(self) -> dict[str, Any]:
        """As claims.json holds it."""
        answers = [
            {"answer": name, "measurements": [asdict(measurement) for measurement in asked]}
            for name, asked in self.asks.items()
        ]
        return {
            "id": self.id,
            "question": self.asked,
            "figures": self.question.figures,
            "verdict": self.verdict,
            "sentence": self.sentence,
            "why": self.why,
            "answers": answers,
        }


def answered(question: Question, evidence: Evidence) -> Found:
    """Put one question to a run's results."""
    say = evidence.language.say
    made = {each.key: (each, once(each.measure)) for each in question.measures}
    asks: dict[str, tuple[Measurement, ...]] = {}
    for answer in question.answers:
        criteria = [
            Criterion(say(made[key][0].name), made[key][1], direction, threshold, say(made[key][0].reason), key)
            for key, direction, threshold in answer.asks
        ]
        asks[answer.name] = tuple(measure(criterion, evidence) for criterion in criteria)
    asked = say(question.asked)
    for answer in question.answers:
        if all(each.verdict == "holds" for each in asks[answer.name]):
            why = "; ".join(each.words for each in asks[answer.name])
            return Found(question, asked, answer.name, say(answer.sentence), why, asks)
    everything = [each for found in asks.values() for each in found]
    if all(each.verdict == "not tested" for each in everything):
        return Found(question, asked, NOT_TESTED, "", "; ".join(dict.fromkeys(each.why for each in everything)), asks)
    lacking = {name: [each for each in found if each.verdict != "holds"] for name, found in asks.items()}
    nearest = min(lacking, key=lambda name: len(lacking[name]))
    why = f"nearest is {nearest}, but for {'; '.join(each.words for each in lacking[nearest])}"
    return Found(question, asked, UNDECIDED, "The evidence does not decide it.", why, asks)


def once(function: Callable[[Evidence], Quantity]) -> Callable[[Evidence], Quantity]:
    """A measurement that several answers ask for is made once."""
    known: list[Quantity] = []

    def measured(evidence: Evidence) -> Quantity:
        if not known:
            known.append(function(evidence))
        return known[0]

    return measured
