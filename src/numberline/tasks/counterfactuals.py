"""Which pairs of prompts differ in one operand, so that a patch from one into the other must change who wins?

1. A ranked tuple (a, b, …, r) is placed in a *value order*: ("y1", "y3", "y2") puts a at y1, b at y3, c at y2. That is
   the clean prompt. The corrupted prompt replaces a in place by r, so its winner is the clean runner-up b.
2. A successful patch of the clean state makes the model name r, the corrupted operand at the clean winner's position;
   scores read t(r) against t(b).
3. The same tuples serve every value order.
4. Evaluation and fitting examples are dealt from one pool, in rounds of 25 and 8 (the paper's 400 to 128). The paper
   says only that both come from one pool; dealt this way, smaller sizes are subsets of larger ones, in both hands.
   The tuples after those are a third hand, on which layers, heads and fits are chosen.

For three operands the paper keeps the tuples that the model solves in all four value orders. That takes a model: `pool`
is given the answer as a mask over `candidates`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from jaxtyping import Int
from torch import Tensor

from numberline.engine.prompts import Tokenizer
from numberline.errors import NumberlineError, TooFewError
from numberline.seed import SEED
from numberline.tasks.layout import answer_tokens, check_distinct_answers
from numberline.tasks.sampling import Row, Rows, ranked_tuples
from numberline.tasks.sizes import PAPER, Sizes
from numberline.tasks.task import Task

Order = tuple[str, ...]

ROUND = math.gcd(PAPER.evaluation, PAPER.fitting)
HANDS = (PAPER.evaluation // ROUND, PAPER.fitting // ROUND)


def cases(k: int) -> dict[str, Order]:
    """The value order of each perturbation case: the changed operand wins, the others follow from last to first.

    For k = 2 and 3 these are the paper's. For larger k, which the paper does not patch, it is the same rule.
    """
    names = [f"y{i}" for i in range(1, k + 1)]
    return {name: (name, *(other for other in reversed(names) if other != name)) for name in names}


CASE_ORDERS: Mapping[str, Order] = cases(3)
"""The value order of each of the paper's three perturbation cases, all patched at the position of y3."""

HEAD_GROUPS: Mapping[Order, str] = {
    ("y1", "y2", "y3"): "y2",
    ("y1", "y3", "y2"): "y3",
    ("y2", "y3", "y1"): "y3",
}
"""The value orders that identify heads, and where each is patched: at the runner-up."""

VALUE_ORDERS: tuple[Order, ...] = tuple(dict.fromkeys([*HEAD_GROUPS, *CASE_ORDERS.values()]))
"""The four value orders of three operands that the paper uses, and in which a quadruple must be solved."""


@dataclass(frozen=True)
class Counterfactual:
    """A clean and a corrupted prompt that differ in one operand, the `case`.

    `a` is the clean answer, `b` the corrupted answer, `r` the corrupted operand at the clean winner's position.
    """

    clean: Row
    corrupted: Row
    case: str
    a: int
    b: int
    r: int

    @property
    def values(self) -> Row:
        """Every value of the two prompts once: the clean operands, and what one of them is replaced by."""
        return tuple(dict.fromkeys(self.clean + self.corrupted))


def counterfactual(task: Task, clean: Sequence[int], corrupted: Sequence[int]) -> Counterfactual:
    """The counterfactual that two rows of operands make, or a sentence that says why they make none."""
    for name, row in (("clean", clean), ("corrupted", corrupted)):
        if len(row) != task.k:
            raise NumberlineError(f"{name} has {len(row)} operands, but the task has k={task.k}: give {task.k} values")
        for value in row:
            if value not in task.values:
                raise NumberlineError(f"{name} holds {value}, but operands go from {task.extent}: choose another value")
    changed = [i for i in range(task.k) if clean[i] != corrupted[i]]
    if len(changed) != 1:
        raise NumberlineError(
            f"{len(changed)} operands differ between clean {tuple(clean)} and corrupted {tuple(corrupted)}: "
            "change exactly one"
        )
    for x, y in combinations([*clean, corrupted[changed[0]]], 2):
        if task.lead(x) == task.lead(y):
            raise NumberlineError(
                f"{task.spell(x)} and {task.spell(y)} share the leading {task.lead(x)!r}, so the first "
                "answer token cannot tell them apart: choose values that begin differently"
            )
    a, b = task.answer(clean), task.answer(corrupted)
    winner = list(clean).index(a)
    if list(corrupted).index(b) == winner:
        raise NumberlineError(
            f"y{winner + 1} wins both in clean {tuple(clean)} and in corrupted {tuple(corrupted)}: change an operand "
            "so that another one wins"
        )
    return Counterfactual(tuple(clean), tuple(corrupted), task.operands[changed[0]], a, b, corrupted[winner])


def arrange(task: Task, tuples: Sequence[Sequence[int]], order: Sequence[str]) -> tuple[Counterfactual, ...]:
    """Ranked tuples (a, b, …, r) placed in a value order; r replaces a."""
    if sorted(order) != sorted(task.operands):
        raise NumberlineError(f"{' > '.join(order)} is no order of {', '.join(task.operands)}: name each exactly once")
    ranks = [list(order).index(name) for name in task.operands]
    pairs = []
    for values in tuples:
        clean = [values[rank] for rank in ranks]
        corrupted = [values[rank or -1] for rank in ranks]  # rank 0, the winner, is replaced by the last value
        pairs.append(counterfactual(task, clean, corrupted))
    return tuple(pairs)


def perturb(task: Task, tuples: Sequence[Sequence[int]], case: str) -> tuple[Counterfactual, ...]:
    """Ranked tuples in the value order of a perturbation case: the corruption changes the operand named `case`."""
    orders = cases(task.k)
    if case not in orders:
        raise NumberlineError(f"there is no case {case!r} with k={task.k} operands: choose one of {', '.join(orders)}")
    return arrange(task, tuples, orders[case])


Hand = Literal["evaluation", "fitting", "choosing"]


@dataclass(frozen=True)
class Split:
    """Ranked tuples, no two hands of which share one: for scores (`evaluation`), for fits and rankings (`fitting`), and
    for choices between candidates (`choosing`), so that what is judged has not chosen itself."""

    evaluation: Rows
    fitting: Rows
    choosing: Rows

    def hand(self, name: Hand) -> Rows:
        """One of the three."""
        found: Rows = getattr(self, name)
        return found


def candidates(task: Task, seed: int = SEED, sizes: Sizes = PAPER) -> Rows:
    """The tuples that the pool is taken from: for three or more operands more than needed, as some are unsolved."""
    return ranked_tuples(task, needed(sizes) if task.k == 2 else max(sizes.candidates, needed(sizes)), seed)


def pool(task: Task, seed: int = SEED, sizes: Sizes = PAPER, solved: Sequence[bool] | None = None) -> Split:
    """The tuples of each hand: the first of the candidates, or of those marked in the mask `solved`."""
    drawn = candidates(task, seed, sizes)
    if solved is None:
        return deal(drawn, sizes)
    if len(solved) != len(drawn):
        raise NumberlineError(f"the mask has {len(solved)} entries for {len(drawn)} candidates: give one for each")
    return deal([row for row, keep in zip(drawn, solved, strict=True) if keep], sizes)


def deal(tuples: Sequence[Row], sizes: Sizes = PAPER) -> Split:
    """Deal tuples, in order, to evaluation (25 a round) and to fitting (8 a round); those that follow to choosing."""
    if len(tuples) < needed(sizes):
        raise TooFewError(
            f"{sizes.evaluation} evaluation, {sizes.fitting} fitting and {sizes.choosing} choosing examples take "
            f"{needed(sizes)} tuples, but there are {len(tuples)}: ask for fewer examples, or draw more candidates"
        )
    total = needed(sizes) - sizes.choosing
    first = [row for i, row in enumerate(tuples[:total]) if i % sum(HANDS) < HANDS[0]]
    second = [row for i, row in enumerate(tuples[:total]) if i % sum(HANDS) >= HANDS[0]]
    third = tuples[total : total + sizes.choosing]
    return Split(tuple(first[: sizes.evaluation]), tuple(second[: sizes.fitting]), tuple(third))


def deal_examples(examples: Sequence[Counterfactual], sizes: Sizes = PAPER) -> dict[Hand, tuple[Counterfactual, ...]]:
    """Deal examples of one case, however many, to the hands in the proportions of the sizes, none larger than asked."""
    shares: dict[Hand, int] = {"evaluation": sizes.evaluation, "fitting": sizes.fitting, "choosing": sizes.choosing}
    dealt: dict[Hand, list[Counterfactual]] = {hand: [] for hand in shares}
    for example in examples:
        # To the hand that is furthest behind its share.
        hand = min(shares, key=lambda name: (len(dealt[name]) + 0.5) / max(shares[name], 1e-9))
        if len(dealt[hand]) < shares[hand]:
            dealt[hand].append(example)
    return {hand: tuple(chosen) for hand, chosen in dealt.items()}


def clean_operands(examples: Sequence[Counterfactual]) -> Rows:
    """The operands of the clean prompts."""
    return tuple(example.clean for example in examples)


def corrupted_operands(examples: Sequence[Counterfactual]) -> Rows:
    """The operands of the corrupted prompts."""
    return tuple(example.corrupted for example in examples)


def answer_ids(tokenizer: Tokenizer, task: Task, examples: Sequence[Counterfactual]) -> Int[Tensor, "n 2"]:
    """(t(r), t(b)) of every example; refused when two values of an example share their first answer token."""
    check_distinct_answers(tokenizer, task, [example.values for example in examples])
    flat = [value for example in examples for value in (example.r, example.b)]
    return answer_tokens(tokenizer, task, flat).reshape(-1, 2)


def needed(sizes: Sizes) -> int:
    """How many tuples all hands take: evaluation and fitting in whole rounds, then choosing."""
    rounds = max(-(-sizes.evaluation // HANDS[0]), -(-sizes.fitting // HANDS[1]))
    return sum(HANDS) * rounds + sizes.choosing
