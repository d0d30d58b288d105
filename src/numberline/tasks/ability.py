"""Can this model do this task? Asked before a run, so that nobody interprets noise.

1. Layout: every value is written in every place. All prompts must split into equally many tokens, and the first tokens
   of two answers that begin differently must differ, or a patch could not be scored.
2. Logits: those of a few prompts must be numbers.
3. Accuracy: a hundred ordered pairs, drawn as in `behaviour.pairs` and answered greedily, with a Wilson interval.
4. Where that is low, every other prompt of the concept (variants.py) is tried on the same pairs.
5. A model can do the task when its whole interval is above nine tenths; in part when it is above the share that naming
   either operand would give; else it cannot.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from numberline.engine.lab import Lab, Read
from numberline.engine.prompts import Tokenizer
from numberline.errors import LayoutError, NumberlineError
from numberline.estimates import Estimate, wilson
from numberline.seed import SEED
from numberline.tasks.answers import answer
from numberline.tasks.concept import Concept
from numberline.tasks.layout import alike, answer_tokens, check_distinct_answers, encode
from numberline.tasks.populations import all_pairs
from numberline.tasks.task import Task

PAIRS = 100
"""How many prompts are answered: half a minute for a model of half a billion parameters on two cores."""
SOME = 8
"""How many prompts are looked at for logits that are no numbers."""
ENOUGH = 0.9
"""The accuracy above which a model does the task; the paper's is above 0.99."""


@dataclass(frozen=True)
class Layout:
    """How a tokenizer writes a task's prompts and answers."""

    tokens: int
    """Of a prompt."""
    operand: int
    """Of an operand."""
    single: int
    """How many of the values are one token as an answer."""
    values: int
    first: int
    """How many first tokens answers have."""

    def __str__(self) -> str:
        each = "one token" if self.operand == 1 else f"{self.operand} tokens"
        whole = f"{self.single} of {self.values} answers are one token" if self.single else "the first token decides"
        return f"{self.tokens} tokens a prompt, {each} an operand, {self.first} first tokens of answers ({whole})"


@dataclass(frozen=True)
class Ability:
    """How well a model answers in one prompt, or why it cannot be asked in it."""

    prompt: str
    accuracy: Estimate | None
    why: str = ""
    said: str = ""
    """The first wrong answer, with what was asked."""

    @property
    def verdict(self) -> Literal["can", "in part", "cannot"]:
        """Whether the model does the task in this prompt."""
        lowest = self.accuracy.lo if self.accuracy is not None else 0.0
        return "can" if lowest > ENOUGH else "in part" if lowest > CHANCE else "cannot"


CHANCE = 0.5
"""The accuracy of naming either of two operands."""


def layout(tokenizer: Tokenizer, task: Task, most: int | None = None) -> Layout:
    """How every value, or `most` of them evenly spread, is written in every place; refused where not alike."""
    # An odd step, so that the last digits of numbers differ.
    step = 1 if most is None or most >= len(task.values) else len(task.values) // most | 1
    other, values = task.values[0], list(task.values[::step])
    rows = [
        (other,) * place + (value,) + (other,) * (task.k - place - 1) for place in range(task.k) for value in values
    ]
    groups = alike(tokenizer, task, rows)
    if len(groups) > 1:
        odd = next(value for value in rows[groups[1][0]] if value != other)
        raise LayoutError(
            f"the tokenizer splits {task.concept.words.nouns} unevenly ({task.spell(odd)} has another number of tokens "
            f"than {task.spell(other)}), so that operands have no fixed place: use another model, or a task of your "
            "own about values that it splits alike"
        )
    prompts = encode(tokenizer, task, rows)
    first = answer_tokens(tokenizer, task, values).tolist()
    leads: dict[int, int] = {}
    for token, value in zip(first, values, strict=True):
        if task.lead(leads.setdefault(token, value)) != task.lead(value):
            check_distinct_answers(tokenizer, task, [(leads[token], value)])
    decode = getattr(tokenizer, "decode", str)
    single = sum(decode([token]).strip() == task.continued(value) for token, value in zip(first, values, strict=True))
    wide = prompts.positions["y1"] - prompts.positions["y1.first"] + 1
    return Layout(prompts.ids.shape[1], wide, single, len(values), len(leads))


def check_suits(lab: Lab, task: Task) -> Layout:
    """Refuse a tokenizer that splits the task's values unevenly, and a model whose logits on them are no numbers."""
    found = layout(lab.tokenizer, task)
    prompts = encode(lab.tokenizer, task, all_pairs(task, SOME))
    margin = lab.run(lab.record(prompts), [], Read(argmax=True)).margin
    if margin is None or not bool(margin.isfinite().all()):
        dtype = str(lab.network.dtype).removeprefix("torch.")
        raise NumberlineError(
            f"the model's logits on the task's prompts are not finite in {dtype}: its weights are damaged, or their "
            "values are too large for this dtype (then load it in float32 or bfloat16)"
        )
    return found


def ability(
    lab: Lab, concept: Concept, n: int = PAIRS, seed: int = SEED, progress: Callable[[int], object] = lambda _: None
) -> Ability:
    """How often the model names the winner of two values, in the concept's prompt."""
    task, prompt = Task(concept), concept.variant.name
    rows = all_pairs(task, n, seed)
    try:
        check_suits(lab, task)
    except NumberlineError as error:
        return Ability(prompt, None, str(error))
    said = answer(lab, task, rows, progress)
    right = [each.value == task.answer(row) for each, row in zip(said, rows, strict=True)]
    wrong = next((i for i, ok in enumerate(right) if not ok), None)
    example = "" if wrong is None else f"{task.question(rows[wrong]).strip()} … {said[wrong].text!r}"
    return Ability(prompt, wilson(right), said=example)


def abilities(
    lab: Lab, concept: Concept, n: int = PAIRS, seed: int = SEED, progress: Callable[[int], object] = lambda _: None
) -> Iterator[Ability]:
    """The paper's prompt, and every other one where the model does not do the task in that."""
    paper, *others = concept.prompts
    first = ability(lab, concept.asked(paper), n, seed, progress)
    yield first
    for name in others if first.verdict != "can" else ():
        yield ability(lab, concept.asked(name), n, seed, progress)


def best(found: list[Ability]) -> Ability:
    """The prompt with the highest accuracy; the earlier one of equals."""
    return max(found, key=lambda each: each.accuracy.mean if each.accuracy is not None else -1.0)
