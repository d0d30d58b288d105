"""Along which directions are three {nouns} held, and do they meet at y3's position? u1 u2 v1 v2 v3 w1 w2.

1. Rank-one directions, on the fitting examples, each in the case that perturbs its number and signed so that its
   component rises with it over the 1,500-prompt cloud:
   - u1, u2 by DAS in the residual leaving the number layer, at y1 and at y2; w1, the same at y2 for y1; w2 is u2;
   - v1, v2 by DAS in the contributions of the two transport heads, at y3;
   - v3, the first principal component of the residual leaving the number layer at y3, or the slope of the states on y3
     where that one does not do what y3 does (common/own_number.py), which the table `fits` says.
   A fit that is stuck is made again from the mean difference (das.fit_with_restart), which `fits` says: in case y1,
   which acts through two flags, random starts may end on a plateau. The paper has one start.
2. Components along each per value of its number, the fit p·log y + q, and how monotone the means are (their rank
   correlation with the number). Principal components of each site, for the pictures of the spaces.
3. Every patch of three/space.py in every case without refitting: each direction alone, the three together, their span,
   the whole residual; the same at y2. On evaluation and on fitting examples. A direction should do nothing in the cases
   in which its number does not change.
4. Controls of matched rank (5 draws): random directions at the site of each direction (at a head: inside the head's
   output space, for other directions meet little of it), random spaces of rank three and two in place of the spans.
5. Beyond the paper: the two-number directions, unchanged, at y2's position of three-number prompts, for the algorithm
   says that y1 and y2 are compared there as two numbers are.

Tables
- `fits`: direction, carries (the number, and the case it was fitted in), position, site, method ("DAS"; v3: "PCA" or
  "slope"), first_loss, last_loss (DAS), why.
- `patches`: case, condition, position, examples, draws, spread, metric (iia, pr, pooled), mean, se, n, lo, hi,
  near_ties, nonpositive. Conditions: the names in three/space.py; "random_u1" … "random_w1", "random_span",
  "random_span_y2"; "pair_v1", "pair_v2", "pair_v1_v2", "pair_plane" (the two-number patches of patches.py).
- `specificity`: direction, carries, case, metric ("pr", "pooled"), mean, se, n, lo, hi, own (whether the case perturbs
  its number): the evaluation rows of `patches` that are about one direction.
- `components`, `log_fits`, `variance` (with a column cloud: whose site it is): as in two/number.py.
- `monotone`: position, direction, carries, mean, se, n, lo, hi: the rank correlation of the per-value means with the
  values (over values).
- `cosines`: first, second, cosine. `space`: as in two/transport.py, v1 and v2 in their heads' output spaces.
- `attention`: direction (v1, v2: whose head), token, larger (of y1 and y2), mean, se, n, lo, hi: from y3's position. A
  head that attends to the larger of the two carries the larger one, and its direction is not specific to one number.
Tensors: u1, u2, v1, v2, v3, w1, w2 (d); span (d × 3), span_y2 (d × 2); operands (n × 3); losses (fits × steps); for
each direction X but w2: pcs_X (d × 20), mean_X (d), values_X (V), means_X (V × d), projections_X (n × 3: X, pc1, pc2).
Subspaces: k3_u1, k3_u2, k3_v1, k3_v2, k3_v3, k3_w1.
"""

from collections.abc import Callable, Mapping

import torch

from numberline.engine.lab import Lab
from numberline.engine.sites import pattern
from numberline.engine.subspace import Subspace
from numberline.experiments.common import roles
from numberline.experiments.common.directions import EXAMPLES, Cloud, Place, Rows, cosines, monotone
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.common.own_number import own_number
from numberline.experiments.three.space import DIRECTIONS, ThreeSpace, case_pairs, places, three_numbers
from numberline.experiments.two.patches import RANDOM_DRAWS, SPACE, Patch, space_of, swapping
from numberline.experiments.two.transport import output_space, random_inside, share_inside
from numberline.methods import clouds, das
from numberline.methods.draws import Scoreboard
from numberline.methods.intervals import mean
from numberline.methods.pairs import Pairs
from numberline.tasks.counterfactuals import CASE_ORDERS, Hand
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud

ALONE = (*DIRECTIONS, "w2")
JOINT = ("full_number_y1", "full_number_y2", "full_number_y3", "v1_v2_v3", "full_resid", "w1_w2", "full_resid_y2")
MID = ("span", "full_mid", "span_y2", "full_mid_y2")
"""The patches in the pre-MLP residual, which a model with parallel sub-blocks lacks."""
SPANS = {"span": 3, "span_y2": 2}
PAIR = ("v1", "v2", "v1_v2", "plane")

CasePairs = Mapping[tuple[str, Hand], Pairs]


@experiment("k3.directions", needs=("k3.trace", "k3.heads", *SPACE))
def directions(lab: Lab, context: Context) -> Result:
    """Along which directions are three {nouns} held, and do they meet at the third's position?"""
    carriers = {f"v{operand[1]}": roles.require(context, f"transport_head_{operand}") for operand in ("y1", "y2")}
    number_layer = roles.require(context, "number_layer_k3").layer
    heads = [(role.layer, role.head) for role in carriers.values()]
    found = places(number_layer, heads[0], heads[1])
    pairs_of = {(case, kind): case_pairs(lab, context, case, kind) for case in CASE_ORDERS for kind in EXAMPLES}
    seen, attention = seen_at(lab, context, found, dict(zip(carriers, heads, strict=True)))
    pair = two_number_patches(lab, context)
    learned = sum(name != "v3" for name in found)
    tried = len(ALONE) + len(JOINT) + len(pair) + RANDOM_DRAWS * len(found)
    tried += 0 if lab.network.parallel else len(MID) + RANDOM_DRAWS * len(SPANS)
    sizes = context.sizes
    count = context.meter(
        learned * das.STEPS * sizes.fitting + len(CASE_ORDERS) * tried * (sizes.evaluation + sizes.fitting)
    )
    fitted, fits, losses = fit_all(context, found, seen, pairs_of, case_pairs(lab, context, "y3", "choosing"), count)
    space = ThreeSpace(number_layer, heads[0], heads[1], **{name: x.basis[:, 0] for name, x in fitted.items()})
    outputs = {name: output_space(lab, role.layer, role.head) for name, role in carriers.items()}
    drawn = controls(context, found, space, outputs)
    own = {name: [space.patches[name]] for name in (*ALONE, *JOINT, *MID)}
    board = patch_scores(lab, own | drawn | pair, pairs_of, count)
    at = {name: {"position": place.site.position} for name, place in found.items()}
    concept = context.concept
    components = [row | at[name] for name, x in seen.items() for row in x.by_value({name: fitted[name]})]
    return Result.of(
        {
            "fits": fits,
            **board.tables("patches"),
            "specificity": specificity(board.rows),
            "components": components,
            "monotone": [{"carries": f"y{row['direction'][1]}", **row} for row in monotone(components)],
            concept.fits: [row | at[name] for name, x in seen.items() for row in x.fits(concept, {name: fitted[name]})],
            "variance": [
                {"cloud": name, **row, **at[name]}
                for name, x in seen.items()
                for row in x.variance({name: fitted[name]})
            ],
            "cosines": cosines(fitted),
            "attention": attention,
            "space": [share_inside(name, fitted[name], outputs[name]) for name in carriers],
        },
        n=context.sizes.evaluation,
        tensors={
            **{name: vector.float() for name, vector in space.named.items()},
            "span": space.span.basis,
            "span_y2": space.span_y2.basis,
            "operands": seen["u1"].operands,
            "losses": losses,
            **{key: tensor for name, x in seen.items() for key, tensor in x.tensors(fitted[name], 2).items()},
        },
        subspaces={f"k3_{name}": subspace for name, subspace in fitted.items()},
    )


def seen_at(
    lab: Lab, context: Context, found: Mapping[str, Place], heads: Mapping[str, tuple[int, int]]
) -> tuple[dict[str, Cloud], Rows]:
    """The cloud at each direction's site, named by the direction; and the rows of `attention`."""
    task = three_numbers(context)
    operands = cloud(task, context.sizes.three_cloud, context.seed)
    prompts = encode(lab.tokenizer, task, operands)
    sites = [place.site for place in found.values()] + [pattern(*head).at("y3") for head in heads.values()]
    read = clouds.read(lab, prompts, sites)
    seen = {
        name: Cloud.of(lab, place, x, operands, position=name)
        for (name, place), x in zip(found.items(), read[: len(found)], strict=True)
    }
    numbers = seen["u1"].operands
    first = numbers[:, 0] > numbers[:, 1]
    attention = [
        {"direction": name, "token": token, "larger": larger, **mean(weights[chosen, prompts.positions[token]]).columns}
        for name, weights in zip(heads, read[len(found) :], strict=True)
        for token in ("y1", "y2", "y3")
        for larger, chosen in (("y1", first), ("y2", ~first))
    ]
    return seen, attention


def fit_all(
    context: Context,
    found: Mapping[str, Place],
    seen: Mapping[str, Cloud],
    pairs_of: CasePairs,
    choosing: Pairs,
    count: Callable[[int], None],
) -> tuple[dict[str, Subspace], Rows, torch.Tensor]:
    """Every direction, the rows of `fits`, and the losses of those that were learned."""
    fitted: dict[str, Subspace] = {}
    rows: Rows = []
    losses = []
    for name, place in found.items():
        fitting = pairs_of[place.operand, "fitting"]
        row = {"direction": name, "carries": place.operand, "position": place.site.position, "site": str(place.site)}
        if name == "v3":
            fitted[name], choice = own_number(context, seen[name], place.site, choosing)
            learned = {"first_loss": None, "last_loss": None}
            rows.append({**row, "method": choice["method"], **learned, "why": choice["why"]})
            continue
        (fit,) = das.fit_with_restart(
            [fitting],
            place.site,
            context.seed,
            progress=lambda done: count(done * context.sizes.fitting),
            patience=context.sizes.patience,
        )
        fitted[name] = seen[name].signed(fit.subspace)
        losses.append(fit.losses)
        ends = {"first_loss": float(fit.losses[0]), "last_loss": float(fit.losses[-1])}
        rows.append({**row, "method": "DAS", **ends, "why": f"learned, {place.operand} perturbed{fit.remark}"})
    return fitted, rows, torch.stack(losses)


def controls(
    context: Context, found: Mapping[str, Place], space: ThreeSpace, outputs: Mapping[str, Subspace]
) -> dict[str, list[Patch]]:
    """Random subspaces of matched rank in place of each direction and of each span."""
    width, seed = space.u1.shape[0], context.seed
    lines = das.random_subspaces(width, 1, RANDOM_DRAWS, seed)
    drawn = {
        f"random_{name}": (place.site, random_inside(outputs[name], seed) if name in outputs else lines)
        for name, place in found.items()
    }
    for name, site in (("span", space.site), ("span_y2", space.site_y2)):
        drawn[f"random_{name}"] = (site, das.random_subspaces(width, SPANS[name], RANDOM_DRAWS, seed))
    return {name: [swapping(site, each) for each in subspaces] for name, (site, subspaces) in drawn.items()}


def two_number_patches(lab: Lab, context: Context) -> dict[str, list[Patch]]:
    """The two-number patches at y2's position, or none where two numbers have no shared space."""
    try:
        space = space_of(lab, context)
    except MissingError:
        return {}
    return {f"pair_{name}": [space.patches[name]] for name in PAIR}


def patch_scores(
    lab: Lab, patches: Mapping[str, list[Patch]], pairs_of: CasePairs, count: Callable[[int], None]
) -> Scoreboard:
    """Every patch in every case, on evaluation and on fitting examples."""
    board = Scoreboard()
    for (case, kind), each in pairs_of.items():
        conditions = {name: [patch(each) for patch in draws] for name, draws in patches.items()}
        where = {name: draws[0][0].site.position for name, draws in conditions.items()}
        conditions = {name: draws for name, draws in conditions.items() if not draws[0][0].site.missing(lab.network)}
        board.draws(each, conditions, {"case": case, "examples": kind}, count)
        board.rows = [{**row, "position": where[row["condition"]]} for row in board.rows]
    return board


def specificity(patches: Rows) -> Rows:
    """Each direction alone in each case, on evaluation examples."""
    carries = {name: f"y{name[1]}" for name in ALONE}
    kept = ("case", "metric", "mean", "se", "n", "lo", "hi")
    return [
        {"direction": row["condition"], "carries": carries[row["condition"]], **{key: row[key] for key in kept}}
        | {"own": row["case"] == carries[row["condition"]]}
        for row in patches
        if row["condition"] in carries and row["examples"] == "evaluation" and row["metric"] != "iia"
    ]
