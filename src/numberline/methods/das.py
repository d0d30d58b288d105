"""Which direction, when swapped, moves the answer? Distributed alignment search for one causal variable.

1. A free matrix R (d × rank) starts from a seed; Q = qr(R) is the basis.
2. Q is inserted into the interchange intervention at the chosen site: x + QQᵀ(x_clean − x).
3. The loss is the cross-entropy toward t(r), restricted to {t(b), t(r)}, on the fitting examples. Gradients are
   accumulated over minibatches, so that each step uses the full-batch mean; one that memory has no room for is halved.
4. Adam, 100 steps, rate 0.05. With `patience`, which the paper does not have, a fit ends when its loss has: when in so
   many steps it fell by less than a hundredth of itself. A fit that is stuck goes on to the end.
5. `fit_with_restart` begins a fit that is stuck again where the states differ, and keeps the better one.

Fits of one site share one batch: several initialisations are conditions of one sweep, and several cases are examples of
one batch, each with the basis of its own case. In half precision the loss is scaled before the backward pass and the
gradient scaled back, so that small gradients do not vanish.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline import hyperparameters
from numberline.engine.edits import swap
from numberline.engine.journal import Piece
from numberline.engine.lab import Lab, Read
from numberline.engine.sites import Site
from numberline.engine.subspace import Subspace
from numberline.methods.pairs import Pairs, join, pld
from numberline.seed import SEED

STEPS, RATE = hyperparameters.STEPS, hyperparameters.RATE
SETTLED = 0.01
"""The share of itself by which a loss still falls while it has not ended."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A learned subspace and its loss at every step; the last one stands for steps that were left out."""

    subspace: Subspace
    losses: Float[Tensor, " steps"]
    given_up: float | None = None
    """The loss at which the stuck fit ended that this one stands for."""

    @property
    def stuck(self) -> bool:
        """Whether b stays ahead of r: equal logits for the two tokens would have had a smaller mean loss, log 2."""
        return float(self.losses[-1]) > math.log(2)

    @property
    def remark(self) -> str:
        """What is to be said of the fit, if anything."""
        begun = self.given_up is not None
        second = f", from the mean difference (a random start ended at a loss of {self.given_up:.2f})" if begun else ""
        return second + ("; b stays ahead of r" if self.stuck else "")


def loss_scale(lab: Lab) -> float:
    """What a loss is multiplied by before the backward pass."""
    return hyperparameters.HALF_PRECISION_SCALE if lab.network.dtype.itemsize < 4 else 1.0


def at_once(pairs: Pairs, site: Site, copies: int = 1) -> int:
    """How many examples' activations fit in memory until the backward pass."""
    lab, length = pairs.lab, pairs.corrupted.length
    tokens = length - site.tokens(pairs.positions, length)[0]
    return max(lab.memory.graph(tokens, lab.network.n_layers - site.layer) // copies, 1)


def fit(
    pairs: Pairs,
    site: Site,
    rank: int = 1,
    seeds: Sequence[int] = (SEED,),
    steps: int = STEPS,
    rate: float = RATE,
    progress: Callable[[int], object] | None = None,
    patience: int = 0,
) -> list[Fit]:
    """Learn a rank-`rank` subspace at a site, once from each seed."""
    fitted = fit_cases([pairs], site, rank, seeds, steps, rate, progress, patience=patience)
    return [fits[0] for fits in fitted]


def fit_cases(
    cases: Sequence[Pairs],
    site: Site,
    rank: int = 1,
    seeds: Sequence[int] = (SEED,),
    steps: int = STEPS,
    rate: float = RATE,
    progress: Callable[[int], object] | None = None,
    starts: Sequence[Float[Tensor, "d k"]] = (),
    patience: int = 0,
) -> list[list[Fit]]:
    """Learn a subspace for each of several pairs at one site, once from each seed: fits[seed][case].

    With `starts`, one for each case, a fit begins there and not where a seed says. `progress` is told fits.
    """
    pairs, of = _together(cases, site)
    lab = pairs.lab
    width = pairs.clean.value(site, slice(0, 1)).shape[-1]
    device = lab.network.blocks[max(site.layer, 0)].device
    free = [
        [(start * width**0.5).to(device).requires_grad_() for start in starts]
        or [_initial(width, rank, seed).to(device).requires_grad_() for _ in cases]
        for seed in seeds
    ]
    flat = [matrix for matrices in free for matrix in matrices]
    optimizer = torch.optim.Adam(flat, lr=rate)
    scale = loss_scale(lab)
    share = 1 / of.bincount().double()[of]  # of each example in the mean of its case
    losses = torch.zeros(len(seeds), len(cases), steps)
    chapter = lab.journal.chapter("fit", pairs.clean.prompts.ids, pairs.corrupted.prompts.ids, site, rank, list(seeds))

    def backward(rows: slice) -> Piece:
        """The losses and the gradients of a minibatch."""
        part = pairs.part(rows)
        bases = [torch.stack([torch.linalg.qr(matrix)[0] for matrix in matrices]) for matrices in free]
        # Examples of one case share a basis, which is the cheaper product.
        along = [each[0] if len(cases) == 1 else each[of[rows].to(device)] for each in bases]
        conditions = [[swap(site, part.clean, basis)] for basis in along]
        logits = lab.sweep(part.corrupted, conditions, Read(logits=part.answers), grad=True).logits
        # −log softmax over two tokens is softplus of the difference.
        difference = pld(logits)
        each = torch.nn.functional.softplus(-difference) * share[rows].to(difference)
        gradients = torch.autograd.grad(each.sum() * scale, flat)
        found = {f"gradient {number}": gradient for number, gradient in enumerate(gradients)}
        return {"losses": each.detach().to("cpu", torch.float32), **found}

    def add(step: int, rows: slice) -> None:
        # The optimiser's own state is not kept: with the same gradients it goes the same way again, at once.
        made = chapter.piece(f"step {step} {rows.start}:{rows.stop}", partial(backward, rows))
        for number, matrix in enumerate(flat):
            gradient = made[f"gradient {number}"]
            matrix.grad = gradient if matrix.grad is None else matrix.grad.add_(gradient)
        losses[:, :, step].index_add_(1, of[rows], made["losses"])

    for step in range(steps):
        optimizer.zero_grad()
        lab.memory.halving(len(pairs), lambda: at_once(pairs, site, len(seeds)), partial(add, step))
        for matrix in flat:
            assert matrix.grad is not None
            matrix.grad /= scale
        optimizer.step()
        ended = bool(patience) and _ended(losses[:, :, : step + 1], patience)
        if progress is not None:
            progress(len(cases) * (steps - step if ended else 1))
        if ended:
            losses[:, :, step + 1 :] = losses[:, :, step, None]
            break
    return [
        [
            Fit(
                Subspace(torch.linalg.qr(matrix.detach())[0], _provenance(cases[j], site, seed, bool(starts))),
                losses[i, j],
            )
            for j, matrix in enumerate(free[i])
        ]
        for i, seed in enumerate(seeds)
    ]


def fit_with_restart(
    cases: Sequence[Pairs],
    site: Site,
    seed: int = SEED,
    steps: int = STEPS,
    progress: Callable[[int], object] | None = None,
    patience: int = 0,
) -> list[Fit]:
    """Learn a direction for each case at one site; where a random start is stuck, also from the mean difference.

    The paper has one start. But a flag is a step, which has no slope far from its edge, and what acts through several
    steps has plateaus: there a random start may end. A fit is stuck when its mean loss ends above log 2, that is, when
    the direction does not do what it was fitted for. How far the loss fell would be the wrong question: it may have
    halved and still be on a plateau, or have begun where nothing was left to gain. Such a fit is made again from the
    mean difference between the clean and the corrupted states (its provenance says so), and the better one is kept;
    where no direction at the site does it, that costs a second fit. `progress` is told of the first fits.
    """
    (fits,) = fit_cases(cases, site, seeds=(seed,), steps=steps, progress=progress, patience=patience)
    stuck = [number for number, fit in enumerate(fits) if fit.stuck]
    if stuck:
        chosen = [cases[number] for number in stuck]
        starts = [mean_difference(pairs, site) for pairs in chosen]
        (again,) = fit_cases(chosen, site, seeds=(seed,), steps=steps, starts=starts, patience=patience)
        for number, second in zip(stuck, again, strict=True):
            first = float(fits[number].losses[-1])
            if second.losses[-1] < first:
                fits[number] = replace(second, given_up=first)
    return fits


def _ended(losses: Float[Tensor, "*fits steps"], patience: int) -> bool:
    """Whether every loss has ended: the best of the last steps is hardly better than the best before them."""
    if losses.shape[-1] <= patience:
        return False
    before, now = losses[..., :-patience].amin(-1), losses[..., -patience:].amin(-1)
    return bool(((now > (1 - SETTLED) * before) & (losses[..., -1] <= math.log(2))).all())


def _together(cases: Sequence[Pairs], site: Site) -> tuple[Pairs, Int[Tensor, " n"]]:
    """Several cases as one, and which of them each example is from."""
    of = torch.cat([torch.full((len(pairs),), number) for number, pairs in enumerate(cases)])
    return (cases[0] if len(cases) == 1 else join(cases, site.layer)), of


def _initial(width: int, rank: int, seed: int) -> Float[Tensor, "width rank"]:
    return torch.randn(width, rank, generator=torch.Generator().manual_seed(seed))


def mean_difference(pairs: Pairs, site: Site) -> Float[Tensor, "d 1"]:
    """The unit direction of the mean difference between the clean and the corrupted activations at a site."""
    change = (pairs.clean.value(site) - pairs.corrupted.value(site))[:, 0].float().mean(0)
    unit: Tensor = change / change.norm()
    return unit[:, None]


def _provenance(pairs: Pairs, site: Site, seed: int, started: bool) -> dict[str, str]:
    return {
        "model": pairs.lab.loaded.fingerprint,
        "site": str(site),
        "method": "DAS, from the mean difference" if started else "DAS",
        "data": ", ".join(filter(None, (f"{len(pairs)} examples", pairs.label))),
        "seed": str(seed),
    }


def random_subspaces(width: int, rank: int, draws: int, seed: int = SEED) -> list[Subspace]:
    """Random subspaces of a matched rank: the control beside every learned one."""
    generator = torch.Generator().manual_seed(seed + 1)
    return [Subspace(torch.linalg.qr(torch.randn(width, rank, generator=generator))[0]) for _ in range(draws)]
