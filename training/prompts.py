"""Which prompts do the built-in models see, and how do operands become tokens?

1. A `Layout` tokenizes one prompt of a task and remembers where the operands' digits are. Every other prompt of that
   task differs in those digits only, so encoding is array indexing. The tokens before the first operand are the shared
   prefix, which training runs once per step.
2. Operands are random and distinct. In half of the prompts two of them are close, because far operands, which are most
   of a uniform draw, say nothing about the last digit.
3. A tenth of the unordered two-digit pairs never meets in training: no prompt of two or three operands holds one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerFast

from numberline.tasks.held_out import held_out_sets
from numberline.tasks.task import Task

Ints = NDArray[np.int64]


def held_out_table() -> NDArray[np.bool_]:
    """A symmetric 100 × 100 table that is true for the two-digit pairs left out of training."""
    table = np.zeros((100, 100), dtype=bool)
    for first, second in map(tuple, held_out_sets()):
        table[first, second] = table[second, first] = True
    return table


HELD_OUT = held_out_table()


@dataclass(frozen=True)
class Layout:
    """One task's token layout: what is shared, and where in the question each digit of each operand stands."""

    task: Task
    prefix: Ints  # [prefix]
    question: Ints  # [question], with placeholder digits
    slots: Ints  # [k, digits], indices into the question
    digit_ids: Ints  # [10]
    stop_id: int

    @staticmethod
    def of(tokenizer: PreTrainedTokenizerFast, task: Task) -> "Layout":
        """Tokenize one prompt of the task and find the digits of its question."""
        digit_ids = np.array(tokenizer.convert_tokens_to_ids(list("0123456789")))
        ids = np.array(tokenizer(task.prompt([task.values[0]] * task.k)).input_ids)
        digits = len(task.spell(task.values[0]))
        places = np.flatnonzero(np.isin(ids, digit_ids))[-task.k * digits :]
        start = int(places[0])
        slots = (places - start).reshape(task.k, digits)
        stop_id = int(tokenizer.convert_tokens_to_ids("."))
        return Layout(task, ids[:start], ids[start:], slots, digit_ids, stop_id)

    @property
    def digits(self) -> int:
        """How many digits each operand has."""
        return int(self.slots.shape[1])

    @property
    def last(self) -> int:
        """The question's last token, which predicts the answer's first digit."""
        return len(self.question) - 1

    @property
    def places(self) -> Ints:
        """The last token of each operand, as indices into the question."""
        return self.slots[:, -1]

    def spell(self, values: Ints) -> Ints:
        """The token ids of the digits of these values, one more axis at the end."""
        powers = 10 ** np.arange(self.digits - 1, -1, -1)
        return np.asarray(self.digit_ids[(values[..., None] // powers) % 10])

    def encode(self, operands: Ints, answers: Ints) -> tuple[Ints, Ints]:
        """Question and answer digits as input ids [n, question + digits], and the answer with its stop as targets."""
        n = len(operands)
        ids = np.tile(self.question, (n, 1))
        ids[:, self.slots.reshape(-1)] = self.spell(operands).reshape(n, -1)
        digits = self.spell(answers)
        return np.concatenate([ids, digits], 1), np.concatenate([digits, np.full((n, 1), self.stop_id)], 1)


def meets_held_out(task: Task, operands: Ints) -> NDArray[np.bool_]:
    """Which rows [n, k] hold a left-out pair. Longer lists are exempt: few would remain."""
    found = np.zeros(len(operands), dtype=bool)
    if task.digits == 2 and task.k <= 3:
        for i in range(task.k):
            for j in range(i):
                found |= HELD_OUT[operands[:, i], operands[:, j]]
    return found


def near(rng: np.random.RandomState, task: Task, values: Ints) -> Ints:
    """Values close to these: the distance is log-uniform, so that every digit decides about equally often."""
    distance = np.exp(rng.uniform(0, np.log(len(task.values)), len(values))).astype(np.int64)
    return np.asarray(values + distance * rng.choice([-1, 1], len(values)))


def valid(task: Task, operands: Ints) -> NDArray[np.bool_]:
    """Which rows have distinct operands of the right number of digits, and no left-out pair."""
    inside = ((operands >= task.values[0]) & (operands <= task.values[-1])).all(1)
    ordered = np.sort(operands, 1)
    distinct = (ordered[:, 1:] != ordered[:, :-1]).all(1)
    ok: NDArray[np.bool_] = inside & distinct
    ok[ok] = ~meets_held_out(task, operands[ok])
    return ok


def draw(rng: np.random.RandomState, task: Task, n: int) -> Ints:
    """Random operands [n, k] for training: half of the rows with two close ones, none with a left-out pair."""
    kept: list[Ints] = []
    while sum(map(len, kept)) < n:
        operands = rng.randint(task.values[0], task.values[-1] + 1, (3 * n, task.k))
        if task.k > 5:  # distinct by construction, as rejection would keep too few
            operands = np.argsort(rng.rand(3 * n, len(task.values)), 1)[:, : task.k] + task.values[0]
        rows = np.flatnonzero(rng.rand(3 * n) < 0.5)
        order = np.argsort(rng.rand(len(rows), task.k), 1)
        operands[rows, order[:, 0]] = near(rng, task, operands[rows, order[:, 1]])
        kept.append(operands[valid(task, operands)])
    return np.concatenate(kept)[:n]


PAIRS = Task(k=2)
PAIRS3 = Task(k=2, digits=3)
TRIPLES = Task(k=3)
LONGER = tuple(Task(k=k, listed=True) for k in (2, 4, 5, 10, 20))
