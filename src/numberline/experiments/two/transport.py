"""How does the transport head carry y1? v1, the direction in its output, and what it attends to.

1. v1: DAS at head(transport).at("y2") on the fitting examples, y1 perturbed. Read from the head's contribution and
   written along itself to the residual stream; signed so that its component rises with y1 over the 3,000-prompt cloud.
2. The share of v1 inside the head's output space, the row space of its slice of W_O, as a norm (the paper's 81 %).
3. Attention of the head from y2's position to y1's tokens, per value of y1.
4. Principal components of the head's output over the cloud; components along v1, PC1, PC2 per value of y1.
5. Patches at the head, y1 perturbed: full rank, v1, PC1, random directions; and v1 in the pre-MLP residual of that
   layer. On the evaluation and on the fitting examples. A random direction of the whole stream meets little of one
   head's output, so that there is a second control: random directions inside the head's output space.

Tables
- `patches`: as in two/number.py; conditions "full", "v1", "pc1", "random", "random inside" and "v1 (pre-MLP)".
- `attention`: value (of y1), token ("y1", "y1.first"), mean, se, n, lo, hi; `attention_all`: token, token_text,
  position, mean: where it looks on average.
- `components`, `monotone`, `log_fits`, `variance`: as in two/number.py, position "y2", directions "v1", "pc1", "pc2".
- `space`: direction, norm_inside, squared_inside, chance (expected norm of a random direction), rank.
Tensors: v1 (d), pcs (d × 20), mean (d), values (V), means (V × d), operands (n × 2), projections (n × 3: v1, pc1, pc2),
attention (n × 2: to y1.first, to y1), losses. Subspaces: v1.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.prompts import Prompts
from numberline.engine.sites import head, mid, pattern
from numberline.engine.subspace import Subspace
from numberline.experiments.common import roles
from numberline.experiments.common.directions import EXAMPLES, Cloud, Place, along, monotone
from numberline.experiments.common.examples import case_pairs
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.patches import RANDOM_DRAWS
from numberline.methods import clouds, das
from numberline.methods.draws import draw_rows
from numberline.methods.trace import question_tokens
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud
from numberline.tasks.task import Task


@experiment("k2.transport", needs=("k2.trace", "k2.heads"))
def transport(lab: Lab, context: Context) -> Result:
    """How does the transport head carry the first {noun} to the second's position?"""
    role = roles.require(context, "transport_head")
    place = Place("y1", head(role.layer, role.head).at("y2"))
    task, sizes = Task(context.concept), context.sizes
    pairs_of = {kind: case_pairs(lab, context, task, "y1", kind, upto=role.layer) for kind in EXAMPLES}
    count = context.meter(das.STEPS * sizes.fitting + (4 + 2 * RANDOM_DRAWS) * (sizes.evaluation + sizes.fitting))
    (fit,) = das.fit_with_restart(
        [pairs_of["fitting"]],
        place.site,
        context.seed,
        progress=lambda done: count(done * sizes.fitting),
        patience=sizes.patience,
    )
    operands = cloud(task, sizes.shared_cloud, context.seed)
    prompts = encode(lab.tokenizer, task, operands)
    output, weights = clouds.read(lab, prompts, [place.site, pattern(role.layer, role.head).at("y2")])
    seen = Cloud.of(lab, place, output, operands, position="y2")
    v1 = seen.signed(fit.subspace)
    space = output_space(lab, role.layer, role.head)
    random = {
        "random": das.random_subspaces(lab.network.d_model, 1, RANDOM_DRAWS, context.seed),
        "random inside": random_inside(space, context.seed),
    }
    patches: list[dict[str, Any]] = []
    for kind, pairs in pairs_of.items():
        tried = {"full": None, "v1": v1, "pc1": seen.component(1), **random}
        conditions = along(pairs, place.site, tried)
        if not lab.network.parallel:
            conditions["v1 (pre-MLP)"] = [[swap(mid(role.layer).at("y2"), pairs.clean, v1)]]
        patches += draw_rows(pairs, conditions, {"case": "y1", "position": "y2", "examples": kind}, count)

    named = {"v1": v1, **seen.components(2)}
    components = seen.by_value(named)
    operand_tokens = {name: prompts.positions[name] for name in ("y1.first", "y1")}
    return Result.of(
        {
            "patches": patches,
            "attention": [
                {"token": name, **row}
                for name, token in operand_tokens.items()
                for row in clouds.by_value(weights[:, token], seen.numbers)
            ],
            "attention_all": _everywhere(lab, prompts, weights),
            "components": components,
            "monotone": monotone(components),
            task.concept.fits: seen.fits(task.concept, named),
            "variance": seen.variance({"v1": v1}),
            "space": [share_inside(name, direction, space) for name, direction in named.items()],
        },
        n=len(pairs_of["evaluation"]),
        tensors={
            "v1": v1.basis[:, 0],
            **{name.removesuffix("_y2"): tensor for name, tensor in seen.tensors(v1, 2).items()},
            "operands": seen.operands,
            "attention": weights[:, list(operand_tokens.values())],
            "losses": fit.losses,
        },
        subspaces={"v1": v1},
    )


def output_space(lab: Lab, layer: int, head: int) -> Subspace:
    """Everything that a head can write: the row space of its slice of W_O."""
    width = lab.network.head_dim
    rows = lab.network.blocks[layer].out_matrix[head * width : (head + 1) * width].detach().cpu()
    _, sizes, directions = torch.linalg.svd(rows.double(), full_matrices=False)
    return Subspace(directions[sizes > 1e-6 * sizes[0]].T.float())


def random_inside(space: Subspace, seed: int, draws: int = RANDOM_DRAWS) -> list[Subspace]:
    """Random directions within a subspace."""
    return [Subspace(space.basis @ within.basis) for within in das.random_subspaces(space.rank, 1, draws, seed)]


def share_inside(name: str, direction: Subspace, space: Subspace) -> dict[str, Any]:
    """A row of the table `space`: how much of a direction lies in what the head can write."""
    norm = float((space.basis.T @ direction.basis).norm())
    chance = math.sqrt(space.rank / space.basis.shape[0])
    return {"direction": name, "norm_inside": norm, "squared_inside": norm**2, "chance": chance, "rank": space.rank}


def _everywhere(lab: Lab, prompts: Prompts, weights: Float[Tensor, "n tokens"]) -> list[dict[str, Any]]:
    """The mean attention to each question token, and to all tokens before the question together (token −1)."""
    tokens = [token.columns for token in question_tokens(lab.tokenizer, prompts)]
    before = {"token": -1, "token_text": "", "position": "before the question"}
    early = float(weights[:, : tokens[0]["token"]].sum(1).mean())
    return [{**before, "mean": early}, *({**row, "mean": float(weights[:, row["token"]].mean())} for row in tokens)]
