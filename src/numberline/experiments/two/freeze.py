"""Which sub-blocks turn the plane into an answer? Freezing them, and injecting MLPs, at y2's position.

1. The (v1, v2) plane is patched in the pre-MLP residual of the transport layer, while sub-blocks are frozen
   (`comparing.py`).
2. The MLPs whose freezing costs most are the role `comparator_mlps`, chosen on the hand `choosing`.
3. The other way round: no plane patch; only the clean outputs of some MLPs are written into the corrupted run at y2,
   each alone, two by two, and all three.

Tables
- `freeze`: case, frozen ("none": the plane patch alone; "attention 15", "mlp 14", "mlp 14+15"), kind, layers, metric,
  mean, se, n, lo, hi, near_ties, nonpositive.
- `inject`: case, layers, metric, … `costs`: case, layer, mean, …: pooled recovery lost by freezing that MLP alone;
  `costs_choosing`: the same of the examples that choose. `freeze_scored`: case, frozen, …, example, pld, clean,
  corrupted, hit: each example.
Roles: comparator_mlps.
"""

from typing import Any

from numberline.engine.lab import Lab
from numberline.engine.sites import mlp
from numberline.experiments.common.comparing import Meeting, choose_mlps, freeze_blocks, sub_blocks, subsets
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.common.role_rules import comparator_mlps
from numberline.experiments.common.roles import settle
from numberline.experiments.two.patches import SPACE, SharedSpace, case_pairs, space_of, swapping_all
from numberline.methods.scores import score
from numberline.results.cases import CASES


@experiment("k2.freeze", needs=SPACE)
def freeze(lab: Lab, context: Context) -> Result:
    """Which sub-blocks turn the plane into an answer?"""
    return measure(lab, context, space_of(lab, context))


def measure(lab: Lab, context: Context, space: SharedSpace) -> Result:
    """Freezing and injecting, given the plane."""
    meeting = meeting_of_two(lab, context, space)
    mlps = subsets(meeting.layers(lab))
    conditions = len(sub_blocks(meeting.layers(lab), "y2")) + len(mlps)
    choosing = len(meeting.layers(lab)) + 1
    count = context.meter(len(CASES) * (conditions * context.sizes.evaluation + choosing * context.sizes.choosing))
    tried = choose_mlps(lab, meeting, count)
    frozen, lost = freeze_blocks(lab, meeting, count)
    injected: list[dict[str, Any]] = []
    for case in CASES:
        examples = meeting.pairs(case, "evaluation")
        edits = [swapping_all([mlp(layer).at("y2") for layer in chosen])(examples) for chosen in mlps]
        injected += score(examples, edits, count).rows([{"case": case, "layers": list(each)} for each in mlps])
    roles = settle(lab, context, comparator_mlps(tried))
    tables = {**frozen.tables("freeze"), "inject": injected, "costs": lost, "costs_choosing": tried}
    return Result.of(tables, context.sizes.evaluation, roles=roles)


def meeting_of_two(lab: Lab, context: Context, space: SharedSpace) -> Meeting:
    """The (v1, v2) plane at y2."""
    return Meeting(
        space.layer, "y2", space.patches["plane"], CASES, lambda case, hand: case_pairs(lab, context, case, hand)
    )
