"""How is the answer read out? The position of the maximum at the last token of a three-number prompt.

1. The clean residual leaving each layer is restored at the last token, in full, in the three head-group orders. Where
   mean recovery rises most is the role `readout_layer_k3`; the figures show two layers before it and two after. It and
   the head of step 4 are chosen on the hand `choosing`.
2. Principal components of the 1,500-prompt cloud at the last token, at those layers, coloured by the winner.
3. At the read-out layer, on evaluation examples: the top two components as a rank-two patch, beside the full-rank
   patch, the first component alone, and random planes. Beyond the paper, a plane learned by DAS on the fitting examples
   of the three orders together: the position may be held in two dimensions that are not the two of most variance.
4. Every head of that layer on its own, without a co-patch, beside the whole attention sublayer. The head that recovers
   most is the role `readout_head`; its attention from the last token, averaged by the position of the maximum.

Tables ("order" is a value order, best first: "y1>y2>y3")
- `layers`: order, layer, metric, mean, se, n, lo, hi, …: the full-rank patch leaving every layer; `layers_choosing`,
  `heads_choosing`: of the examples that choose.
- `patches`: order, layer, condition ("full", "pcs", "pc1", "random"), draws, spread, metric, mean, …;
  `patches_scored`: each example.
- `learned`: order, layer, condition ("learned"), examples ("evaluation", "fitting"), draws, spread, metric, mean, …
- `heads`: order, layer, head (−1: the whole attention sublayer), metric, mean, …
- `attention`: head, winner ("y1", "y2", "y3"), token, token_text, position, mean, se, n, lo, hi.
- `pca`: layer, pc1, pc2 (shares of variance), mean … (how often the two components tell the winner, by the nearest of
  three means, which are taken from the first half of the cloud and tried on the second).
Roles: readout_layer_k3, readout_head.
Tensors: projections (shown layers × prompts × 2), shown (those layers), operands (prompts × 3), winner (prompts; 1 to
3), pcs (d × 2, of the read-out layer), learned (d × 2), overlap (2: cosines of the principal angles between these two
planes). Subspaces: k3_answer, k3_answer_learned.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.sites import attn, head, pattern, resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common.directions import Rows, along
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.common.role_rules import leading_head, readout_layer_k3
from numberline.experiments.common.roles import not_found, settle
from numberline.experiments.three.space import ordered_pairs, split_of, three_numbers
from numberline.experiments.two.patches import RANDOM_DRAWS
from numberline.experiments.two.trace import HANDS
from numberline.methods.clouds import group_means, read
from numberline.methods.das import STEPS, fit, random_subspaces
from numberline.methods.draws import Scoreboard, draw_rows
from numberline.methods.intervals import mean, wilson
from numberline.methods.pairs import Pairs
from numberline.methods.pca import Components, principal_components
from numberline.methods.scores import score
from numberline.methods.trace import question_tokens
from numberline.results.roles import Role
from numberline.tasks.counterfactuals import HEAD_GROUPS, arrange
from numberline.tasks.layout import encode
from numberline.tasks.pairs import record_pairs
from numberline.tasks.populations import cloud

BESIDE = 2
"""How many layers before and after the read-out layer are shown."""
RANK = 2

Progress = Callable[[int], object]


@experiment("k3.readout", needs=("k3.trace",))
def readout(lab: Lab, context: Context) -> Result:
    """How does the last token come to know the position of the {extreme}?"""
    choosing, pairs_of = (
        {">".join(order): ordered_pairs(lab, context, order, hand) for order in HEAD_GROUPS} for hand in HANDS
    )
    n, both = context.sizes.evaluation, context.sizes.evaluation + context.sizes.choosing
    count = context.meter(both * len(pairs_of) * (lab.network.n_layers + lab.network.n_heads + 1) + STEPS)
    tried, rows = (layer_rows(lab, each, count) for each in (choosing, pairs_of))
    (role,) = settle(lab, context, readout_layer_k3(tried))
    tables: dict[str, Any] = {"layers": rows, "layers_choosing": tried}
    if not role.found:
        return Result.of(tables, n, roles=[role], missing=not_found(role))
    layer = role.layer
    tried_heads, by_head = (head_rows(lab, each, layer, count) for each in (choosing, pairs_of))
    own = [row for row in tried_heads if row["metric"] == "pooled" and row["head"] >= 0]
    (reader,) = settle(lab, context, leading_head("readout_head", averaged(own)))
    seen, tensors, answer = cloud_tables(lab, context, layer, reader)
    tables |= {**seen, "heads": by_head, "heads_choosing": tried_heads}
    tables |= patch_rows(lab, context, pairs_of, layer, answer).tables("patches")
    tables["learned"], learned = learned_rows(lab, context, pairs_of, layer, count)
    tensors |= {"learned": learned.basis, "overlap": torch.linalg.svdvals(answer.basis.T @ learned.basis)}
    return Result.of(tables, n, tensors, {"k3_answer": answer, "k3_answer_learned": learned}, [role, reader])


def layer_rows(lab: Lab, pairs_of: Mapping[str, Pairs], progress: Progress) -> Rows:
    """The whole residual leaving each layer, restored at the last token."""
    rows, layers = Rows(), range(lab.network.n_layers)
    for order, pairs in pairs_of.items():
        conditions = [[swap(resid(layer).at("last"), pairs.clean)] for layer in layers]
        rows += score(pairs, conditions, progress).rows([{"order": order, "layer": layer} for layer in layers])
    return rows


def head_rows(lab: Lab, pairs_of: Mapping[str, Pairs], layer: int, progress: Progress) -> Rows:
    """Each head of a layer interchanged alone at the last token, and the whole attention sublayer (head −1)."""
    sites = {-1: attn(layer).at("last")} | {i: head(layer, i).at("last") for i in range(lab.network.n_heads)}
    rows: Rows = []
    for order, pairs in pairs_of.items():
        conditions = [[swap(site, pairs.clean)] for site in sites.values()]
        labels = [{"order": order, "layer": layer, "head": number} for number in sites]
        rows += score(pairs, conditions, progress).rows(labels)
    return rows


def averaged(rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Each head's recovery, averaged over the orders; so are the ends of its interval."""
    found: Rows = []
    for number in sorted({row["head"] for row in rows}):
        own = [row for row in rows if row["head"] == number]
        means = {name: sum(row[name] for row in own) / len(own) for name in ("mean", "lo", "hi")}
        found.append({"layer": own[0]["layer"], "head": number, **means})
    return found


def patch_rows(lab: Lab, context: Context, pairs_of: Mapping[str, Pairs], layer: int, answer: Subspace) -> Scoreboard:
    """The answer subspace, its first component and the whole residual at the last token, and random planes."""
    site = resid(layer).at("last")
    drawn = random_subspaces(lab.network.d_model, answer.rank, RANDOM_DRAWS, context.seed)
    spaces = {"full": None, "pcs": answer, "pc1": Subspace(answer.basis[:, :1], answer.provenance), "random": drawn}
    board = Scoreboard()
    for order, pairs in pairs_of.items():
        board.draws(pairs, along(pairs, site, spaces), {"order": order, "layer": layer})
    return board


def learned_rows(
    lab: Lab, context: Context, pairs_of: Mapping[str, Pairs], layer: int, progress: Progress
) -> tuple[Rows, Subspace]:
    """A plane learned at the last token on the three orders together, evaluated in each."""
    site, task = resid(layer).at("last"), three_numbers(context)
    fitting = {">".join(order): arrange(task, split_of(context).fitting, order) for order in HEAD_GROUPS}
    together = record_pairs(lab, task, [example for examples in fitting.values() for example in examples])
    (found,) = fit(together, site, rank=RANK, seeds=(context.seed,), progress=progress, patience=context.sizes.patience)
    learned = Subspace(found.subspace.basis.cpu(), {**found.subspace.provenance, "data": f"{len(together)} examples"})
    rows: Rows = []
    for order, pairs in pairs_of.items():
        splits = {"evaluation": pairs, "fitting": record_pairs(lab, task, fitting[order])}
        for name, examples in splits.items():
            labels = {"order": order, "layer": layer, "examples": name}
            rows += draw_rows(examples, along(examples, site, {"learned": learned}), labels)
    return rows, learned


def cloud_tables(
    lab: Lab, context: Context, layer: int, reader: Role
) -> tuple[dict[str, Rows], dict[str, Tensor], Subspace]:
    """The cloud at the last token: its components around the read-out layer, and what the read-out head attends to."""
    task = three_numbers(context)
    operands = cloud(task, context.sizes.three_cloud, context.seed)
    prompts = encode(lab.tokenizer, task, operands)
    shown = range(max(layer - BESIDE, 0), min(layer + BESIDE + 1, lab.network.n_layers))
    sites = [resid(there).at("last") for there in shown]
    reading = [pattern(*reader.value).at("last")] if reader.found else []
    *states, weights = [*read(lab, prompts, [*sites, *reading]), *([] if reading else [torch.empty(0)])]
    winner = torch.tensor([row.index(task.answer(row)) for row in operands])
    found = [principal_components(x, RANK) for x in states]
    projections = torch.stack([pca.project(x) for pca, x in zip(found, states, strict=True)]).float()
    rows = [pca_row(there, pca, points, winner) for there, pca, points in zip(shown, found, projections, strict=True)]
    about = {"model": lab.loaded.fingerprint, "site": str(sites[0]), "data": f"{len(prompts)} clean prompts"}
    here = list(shown).index(layer)
    answer = Subspace(found[here].directions, {**about, "site": str(sites[here]), "method": "PCA, components 1 and 2"})
    tokens = [token.columns for token in question_tokens(lab.tokenizer, prompts)]
    tables = {"pca": rows}
    if reading:
        tables["attention"] = attention_rows(reader.head, task.operands, tokens, weights, winner)
    tensors = {
        "projections": projections,
        "shown": torch.tensor(list(shown)),
        "operands": torch.tensor(operands),
        "winner": winner + 1,
        "pcs": answer.basis,
    }
    return tables, tensors, answer


def pca_row(layer: int, pca: Components, points: Float[Tensor, "n 2"], winner: Int[Tensor, " n"]) -> dict[str, Any]:
    """How much the two components explain, and how often the nearest of the winners' means is the true one's."""
    half = len(points) // 2
    means = group_means(points[:half], winner[:half])
    nearest = torch.cdist(points[half:].double(), means).argmin(1)
    shares = pca.shares.tolist()
    told = wilson((nearest == winner[half:]).tolist())
    return {"layer": layer, **{f"pc{i}": share for i, share in enumerate(shares, start=1)}, **told.columns}


def attention_rows(
    reader: int,
    names: Sequence[str],
    tokens: Sequence[Mapping[str, Any]],
    weights: Float[Tensor, "n tokens"],
    winner: Int[Tensor, " n"],
) -> Rows:
    """A head's attention from the last token to each question token, averaged by the position of the maximum."""
    return [
        {"head": reader, "winner": name, **token, **mean(weights[winner == place, token["token"]]).columns}
        for place, name in enumerate(names)
        for token in tokens
    ]
