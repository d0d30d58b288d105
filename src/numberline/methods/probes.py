"""What can be read off linearly? Ridge probes whose penalty is chosen by leave-one-out, in closed form.

1. Activations and targets are centred on the training examples; activations are not scaled.
2. One eigendecomposition of the smaller Gram matrix, XᵀX or XXᵀ, serves every target and every penalty: with X = ZVᵀ
   and ZᵀZ = Λ, the fit is Z (Λ + α)⁻¹ Zᵀ y.
3. The leave-one-out residual of example i is its residual over 1 − h_i, with the leverage
   h_i = 1/n + Σ_j Z_ij² / (Λ_j + α). The penalty with the least mean square of them is taken, for each target apart.
4. Scores on held-out examples: R² for a number, accuracy of the sign for a comparison (targets ±1: a ridge classifier).
5. `probe_everywhere` does so at every layer and token of some prompts (of pairs: `pairs.clean.prompts`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from numberline import hyperparameters
from numberline.engine.journal import Chapter
from numberline.engine.lab import Lab
from numberline.engine.prompts import Prompts
from numberline.engine.sites import resid
from numberline.methods import clouds
from numberline.methods.intervals import Estimate, mean, ratio
from numberline.methods.trace import question_tokens

PENALTIES = torch.logspace(*hyperparameters.PENALTIES, dtype=torch.float64)
HELD_OUT = hyperparameters.HELD_OUT
GROUP_BYTES = 2**30
"""How much of the prompts' activations is held at once: layers are read in groups."""


@dataclass(frozen=True, eq=False)
class Probe:
    """Fitted ridge probes: a weight vector, an intercept and a penalty for every target."""

    weights: Float[Tensor, "d targets"]
    intercepts: Float[Tensor, " targets"]
    penalties: Float[Tensor, " targets"]

    def __call__(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n targets"]:
        """Predictions."""
        return x.double() @ self.weights + self.intercepts


def ridge(
    x: Float[Tensor, "n d"], targets: Float[Tensor, "n targets"], penalties: Float[Tensor, " penalties"] = PENALTIES
) -> Probe:
    """Fit one probe per target, each with the penalty that its leave-one-out error prefers."""
    x_mean, y_mean = x.double().mean(0), targets.double().mean(0)
    x, y = x.double() - x_mean, targets.double() - y_mean
    n, d = x.shape
    if d <= n:
        spectrum, back = torch.linalg.eigh(x.T @ x)
        z = x @ back
    else:
        spectrum, vectors = torch.linalg.eigh(x @ x.T)
        # Directions without variance carry nothing, and dividing by it would only magnify rounding.
        seen = spectrum > 1e-12 * spectrum[-1].clamp(min=1e-300)
        spectrum, vectors = spectrum[seen], vectors[:, seen]
        z, back = vectors * spectrum.sqrt(), x.T @ vectors / spectrum.sqrt()
    spectrum = spectrum.clamp(min=0)
    shrink = 1 / (spectrum[:, None] + penalties)  # (m, penalties)
    moments = z.T @ y  # (m, targets)
    leverage = 1 / n + z.square() @ shrink  # (n, penalties)
    solutions = (shrink[:, :, None] * moments[:, None, :]).flatten(1)  # (m, penalties · targets)
    fitted = (z @ solutions).unflatten(1, (len(penalties), -1))
    left_out = (y[:, None] - fitted) / (1 - leverage)[:, :, None]
    best = left_out.square().mean(0).argmin(0)  # per target
    weights = back @ (shrink[:, best] * moments)
    return Probe(weights, y_mean - x_mean @ weights, penalties[best])


def r2(truth: Float[Tensor, " n"], predicted: Float[Tensor, " n"]) -> Estimate:
    """1 − (squared error over variance), with the bootstrap interval of that ratio."""
    lost = ratio((truth - predicted).square(), (truth - truth.mean()).square())
    return Estimate(1 - lost.mean, lost.se, lost.n, 1 - lost.hi, 1 - lost.lo)


def accuracy(truth: Float[Tensor, " n"], predicted: Float[Tensor, " n"]) -> Estimate:
    """How often the prediction has the sign of the truth."""
    return mean(((predicted > 0) == (truth > 0)).double())


def held_out(n: int, seed: int, together: int = 1) -> Bool[Tensor, " n"]:
    """Which of n examples are held out: a fifth, drawn at random; `together` neighbours share their lot."""
    groups = -(-n // together)
    order = torch.randperm(groups, generator=torch.Generator().manual_seed(seed))
    chosen = torch.zeros(groups, dtype=torch.bool)
    chosen[order[: round(HELD_OUT * groups)]] = True
    return chosen.repeat_interleave(together)[:n]


def probe(
    x: Float[Tensor, "n d"],
    targets: Mapping[str, Float[Tensor, " n"]],
    held: Bool[Tensor, " n"],
    chapter: Chapter | None = None,
    name: str = "",
) -> list[dict[str, Any]]:
    """One row for each target: its penalty, and its score on the examples that are held out.

    The fit is a piece of a computation, where a chapter and the piece's name in it are given.
    """
    wanted = torch.stack(list(targets.values()), 1)
    fitted = Probe(**(chapter or Chapter()).piece(name, lambda: vars(ridge(x[~held], wanted[~held]))))
    predicted, truth = fitted(x[held]), wanted[held]
    return [
        {
            "target": target,
            "penalty": float(fitted.penalties[i]),
            **(accuracy if bool((wanted[:, i].abs() == 1).all()) else r2)(truth[:, i], predicted[:, i]).columns,
        }
        for i, target in enumerate(targets)
    ]


def probe_everywhere(
    lab: Lab,
    prompts: Prompts,
    targets: Mapping[str, Float[Tensor, " n"]],
    held: Bool[Tensor, " n"],
    progress: Callable[[int], object] | None = None,
) -> list[dict[str, Any]]:
    """The probes of the residual leaving every layer, at every token that the prompts do not share.

    Rows: layer, token, token_text, position, target, penalty, mean, …; `progress` is told places.
    """
    layers, tokens = lab.network.n_layers, question_tokens(lab.tokenizer, prompts)
    group = max(GROUP_BYTES // (len(prompts) * len(tokens) * lab.network.d_model * 4), 1)
    chapter = lab.journal.chapter("probes", prompts.ids, list(targets))
    rows: list[dict[str, Any]] = []
    for start in range(0, layers, group):
        places = [(layer, token) for layer in range(start, min(start + group, layers)) for token in tokens]
        read = clouds.read(lab, prompts, [resid(layer).at(token.token) for layer, token in places])
        for (layer, token), x in zip(places, read, strict=True):
            found = probe(x, targets, held, chapter, f"{layer} {token.token}")
            rows += [{"layer": layer, **token.columns, **row} for row in found]
            if progress is not None:
                progress(1)
    return rows
