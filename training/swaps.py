"""Which interchange interventions is `tiny` trained on, and what does the paper's algorithm answer after each?

1. The algorithm. Every operand's magnitude is held at its last token (axis U, residual leaving block 1). Block 2's
   attention brings the earlier operands' magnitudes to each later operand (axes V1 and V2, before block 2's MLP). There
   "the largest so far" is decided (axis F, residual leaving block 3). The last token names the latest operand whose
   flag is set, else the first one (residual leaving block 4).
2. A `Variable` is one of these quantities at one operand: where it lives, and what swapping it does to the algorithm.
   "Whole" variables swap the entire residual stream of that token, and are scored on the first digit only: the last
   token of an operand may carry its last digit, as it does in the paper, but not its first.
3. Training swaps a variable from a source prompt into a base prompt, only where the answer must flip. The target is the
   *base* prompt's operand at the position that the algorithm gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prompts import HELD_OUT, Ints, Layout, draw, near, valid

U, V1, V2, FLAG, A1, A2 = range(6)  # residual axes during training; a random rotation hides them afterwards


@dataclass(frozen=True)
class Variable:
    """A quantity of the algorithm at operand `at` (0 is y1); `of` is the operand whose magnitude it is."""

    kind: str  # "number", "moved", "flag" or "answer"
    site: str
    at: int
    of: int = -1
    axis: int | None = None  # None: the whole residual stream


def variables(k: int) -> list[Variable]:
    """All variables of a prompt with k operands; transported magnitudes have axes up to the third operand only."""
    found = []
    for at in range(k):
        found += [Variable("number", "resid1", at, at, U), Variable("number", "resid1", at, at)]
        if at > 0:
            found.append(Variable("flag", "resid3", at, axis=FLAG))
            found += [Variable("flag", "resid2", at), Variable("flag", "resid3", at)]
        if 0 < at < 3:
            found.append(Variable("moved", "mid2", at, at, U))
            found += [Variable("moved", "mid2", at, of, (V1, V2)[of]) for of in range(at)]
    return [*found, Variable("answer", "resid4", -1)]


def seen(operands: Ints) -> Ints:
    """What is compared where: [n, at, of], the magnitude of operand `of` as operand `at` sees it."""
    return np.repeat(operands[:, None], operands.shape[1], 1)


def flags(view: Ints) -> NDArray[np.bool_]:
    """Is each operand the largest so far, by what it sees? The first one is."""
    k = view.shape[1]
    return np.stack([(view[:, t, t, None] > view[:, t, :t]).all(1) for t in range(k)], 1)


def latest(flag: NDArray[np.bool_]) -> Ints:
    """The latest operand whose flag is set."""
    k = flag.shape[1]
    return np.asarray(k - 1 - flag[:, ::-1].argmax(1))


@dataclass(frozen=True)
class State:
    """The algorithm's variables in n prompts."""

    view: Ints  # [n, at, of], see `seen`
    flag: NDArray[np.bool_]  # [n, k]
    winner: Ints  # [n], the index of the operand that is named

    def __getitem__(self, rows: slice | NDArray[np.bool_]) -> "State":
        return State(self.view[rows], self.flag[rows], self.winner[rows])

    @staticmethod
    def join(parts: "Sequence[State]") -> "State":
        """All rows of these, in order."""
        return State(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("view", "flag", "winner")))


def plain(operands: Ints) -> State:
    """The algorithm's variables when nothing is swapped."""
    view = seen(operands)
    return State(view, flags(view), latest(flags(view)))


def after_swap(variable: Variable, base: Ints, source: Ints) -> State:
    """The algorithm's variables in the base prompts after the swap."""
    view, flag = seen(base), flags(seen(base))
    if variable.kind == "number":
        view[:, variable.at :, variable.of] = source[:, variable.of, None]
    if variable.kind == "moved":
        view[:, variable.at, variable.of] = source[:, variable.of]
    if variable.kind in ("number", "moved"):
        flag = flags(view)
    if variable.kind == "flag":
        flag[:, variable.at] = flags(seen(source))[:, variable.at]
    winner = latest(flags(seen(source)) if variable.kind == "answer" else flag)
    return State(view, flag, winner)


def no_tie(layout: Layout, view: Ints) -> NDArray[np.bool_]:
    """Rows in which no operand sees its equal, nor (through a swap) a pair that is left out of training."""
    ok = np.ones(len(view), dtype=bool)
    for at in range(view.shape[1]):
        for of in range(at):
            ok &= view[:, at, at] != view[:, at, of]
            if layout.task.digits == 2 and layout.task.k <= 3:
                ok &= ~HELD_OUT[view[:, at, at], view[:, at, of]]
    return ok


def perturbed(rng: np.random.RandomState, layout: Layout, base: Ints, variable: Variable) -> Ints:
    """Sources that differ from the base in one operand, as the paper's counterfactuals do; half of them close calls."""
    task, n = layout.task, len(base)
    which = np.full(n, variable.of) if variable.of >= 0 else rng.randint(0, variable.at % task.k + 1, n)
    rows = np.arange(n)
    close = near(rng, task, base[rows, (which + rng.randint(1, task.k, n)) % task.k])
    source = base.copy()
    source[rows, which] = np.where(rng.rand(n) < 0.5, close, rng.randint(task.values[0], task.values[-1] + 1, n))
    return source


def must_flip(rng: np.random.RandomState, layout: Layout, variable: Variable, n: int) -> tuple[Ints, Ints, State]:
    """Base and source operands [n, k] whose answer the swap must change, and the bases' state after it."""
    bases: list[Ints] = []
    sources: list[Ints] = []
    states: list[State] = []
    while sum(len(part) for part in bases) < n:
        base, source = draw(rng, layout.task, 4 * n), draw(rng, layout.task, 4 * n)
        natural = rng.rand(4 * n) < 0.5
        source[natural] = perturbed(rng, layout, base[natural], variable)
        possible = valid(layout.task, source)
        base, source = base[possible], source[possible]
        state = after_swap(variable, base, source)
        good = (state.winner != base.argmax(1)) & no_tie(layout, state.view)
        bases.append(base[good])
        sources.append(source[good])
        states.append(state[good])
    return np.concatenate(bases)[:n], np.concatenate(sources)[:n], State.join(states)[:n]
