"""What is in a training batch, and what happens to it inside the network?

1. A plain batch is prompts with their answers. A swap batch is sources, which run plainly, then as many bases, each of
   which receives one variable from its source (`swaps.py`); all rows carry the algorithm's state after the swap.
2. While the network runs, `Taps` makes the swaps and collects how far each axis is from what the algorithm holds there.
3. `run` returns the losses; `Tally` averages what the log prints.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from network import Runner
from prompts import Ints, Layout, draw
from swaps import A1, A2, FLAG, V1, V2, State, U, Variable, must_flip, plain, variables

SCALE = 3.0  # of the axes: large enough to lead the residual stream's variance at an operand's last token


@dataclass
class Batch:
    """Sources first, then (if there are swaps) as many bases; both of one layout."""

    layout: Layout
    n: int  # sources
    state: State  # the algorithm's variables in every row, after the swaps
    ids: Tensor  # [rows, tokens]
    targets: Tensor  # [rows, digits + 1]
    weights: Tensor  # [rows, digits + 1], one for what a row is scored on
    edits: dict[str, tuple[Tensor, Tensor, Tensor]]  # site: base rows, tokens, axes
    chosen: list[tuple[Variable, slice]]


def plain_batch(rng: np.random.RandomState, layout: Layout, n: int) -> Batch:
    """Prompts and their answers, nothing swapped."""
    operands = draw(rng, layout.task, n)
    ids, targets = layout.encode(operands, operands.max(1))
    ones = torch.ones(targets.shape)
    return Batch(layout, n, plain(operands), torch.from_numpy(ids), torch.from_numpy(targets), ones, {}, [])


def swap_batch(rng: np.random.RandomState, layout: Layout, n: int) -> Batch:
    """Must-flip pairs, shared out over the layout's variables; those with an axis get twice the share."""
    options = variables(layout.task.k)
    share = np.array([2.0 if option.axis is not None else 1.0 for option in options])
    counts = rng.multinomial(n, share / share.sum())
    bases, sources, states, chosen = [], [], [], []
    edits: dict[str, list[Ints]] = {}
    weights = np.ones((n, layout.digits + 1), dtype=np.float32)
    start = 0
    for variable, count in zip(options, counts, strict=True):
        if count == 0:
            continue
        base, source, state = must_flip(rng, layout, variable, int(count))
        bases.append(base)
        sources.append(source)
        states.append(state)
        rows = np.arange(start, start + count)
        chosen.append((variable, slice(start, start + int(count))))
        token = layout.last if variable.kind == "answer" else int(layout.places[variable.at])
        axes = np.arange(128) if variable.axis is None else np.array([variable.axis])
        if variable.axis is None:
            weights[rows, 1:] = 0  # a whole token may carry its own last digit along
        row, axis = np.meshgrid(rows, axes, indexing="ij")
        edits.setdefault(variable.site, []).append(np.stack([row.ravel(), np.full(row.size, token), axis.ravel()]))
        start += int(count)
    operands = np.concatenate([*sources, *bases])
    state = State.join([plain(np.concatenate(sources)), *states])
    ids, targets = layout.encode(operands, operands[np.arange(2 * n), state.winner])
    merged = {site: torch.from_numpy(np.concatenate(parts, 1)).unbind() for site, parts in edits.items()}
    return Batch(
        layout,
        n,
        state,
        torch.from_numpy(ids),
        torch.from_numpy(targets),
        torch.from_numpy(np.concatenate([np.ones_like(weights), weights])),
        merged,  # type: ignore[arg-type]
        chosen,
    )


def magnitude(layout: Layout, values: Ints) -> Tensor:
    """Standardized log magnitude, the same for 37 and 370: within a prompt all operands have as many digits."""
    return torch.from_numpy((np.log(values / 10 ** (layout.digits - 2)) - 3.8) / 0.6).float()


class Taps:
    """Swaps the bases' variables, and collects how far every axis is from what the algorithm then holds there."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.squared: dict[str, list[Tensor]] = {}

    def __call__(self, site: str, x: Tensor) -> Tensor:
        """See `network.Tap`."""
        layout, places, state = self.batch.layout, self.batch.layout.places, self.batch.state
        if not self.batch.edits:
            return x
        if site in self.batch.edits:
            row, token, axis = self.batch.edits[site]
            x = x.index_put((row + self.batch.n, token, axis), x[row, token, axis])
        if site == "resid1":
            self.pull("U", x[:, places, U], magnitude(layout, state.view.diagonal(axis1=1, axis2=2)))
        if site == "mid2":
            number = magnitude(layout, state.view)
            for at in range(1, min(3, layout.task.k)):
                for of in range(at):
                    self.pull("V", x[:, places[at], (V1, V2)[of]], number[:, at, of])
        if site == "resid3":
            self.pull("F", x[:, places, FLAG], torch.from_numpy(state.flag).float() * 2 - 1)
        if site == "resid4":
            angle = torch.from_numpy(state.winner) * (2 * math.pi / 3)  # three positions, equally far apart
            position = torch.stack([angle.cos(), angle.sin()], -1)[:, None]
            scored = self.batch.weights[..., None]
            self.pull("A", x[:, layout.last :, [A1, A2]] * scored, position * scored)
        return x

    def pull(self, name: str, value: Tensor, target: Tensor) -> None:
        """Remember how far an axis is from what it should hold."""
        self.squared.setdefault(name, []).append((value / SCALE - target).square().mean())


def run(runner: Runner, batch: Batch) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Cross-entropies and hits [rows, digits + 1], and the mean squared loss of each kind of axis."""
    taps = Taps(batch)
    prefix = torch.from_numpy(batch.layout.prefix)
    logits = runner.logits(prefix, batch.ids, batch.layout.last, taps)
    losses = cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), reduction="none").view(batch.targets.shape)
    hits = logits.detach().argmax(-1) == batch.targets
    squared = {name: torch.stack(parts).mean() for name, parts in taps.squared.items()}
    return losses, hits, squared


class Tally:
    """Running means for the log: whole-answer accuracy per kind of prompt, and per site for the swaps."""

    def __init__(self) -> None:
        self.sums: dict[str, list[float]] = {}

    def add(self, kind: str, batch: Batch, losses: Tensor, hits: Tensor, squared: dict[str, Tensor]) -> None:
        """Count one batch."""
        n = batch.n
        right = (hits | (batch.weights == 0)).all(1).float()
        self.note(f"{kind}", right[:n].mean().item())
        self.note("loss", losses[:n].mean().item())
        if batch.edits:
            for name, value in squared.items():
                self.note(f"{kind}~{name}", value.item())
            for variable, rows in batch.chosen:
                axis = "" if variable.axis is None else "UVWF"[variable.axis]
                self.note(f"{kind}/{variable.site}{axis}", right[n:][rows].mean().item())

    def note(self, key: str, value: float) -> None:
        """Add one value under a name."""
        self.sums.setdefault(key, []).append(value)

    def line(self) -> str:
        """The means, as one line."""
        return " ".join(f"{key}={np.mean(values):.3f}" for key, values in sorted(self.sums.items()))
