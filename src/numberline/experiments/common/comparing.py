"""Which parts turn a shared space into an answer? Freezing sub-blocks and neurons while the space is patched.

Two numbers meet on a plane at y2, three in a space at y3; what is done there is the same. A `Meeting` says where they
meet, in which perturbation cases, on which examples, and which patch moves them.

1. `freeze_blocks`: one sub-block's output at that position is pinned to its value in the unpatched corrupted run:
   attention and MLP of the three layers from the transport layer on, without the transport layer's attention, which
   lies before the patch. Then MLPs two by two, and all three. The cost of freezing is the pooled recovery lost.
2. `rank`: all neurons of some MLPs, scored by attribution on the fitting examples of each case.
3. `freeze_neurons`: the top k of a case's own ranking are pinned to their corrupted values on the evaluation examples,
   k = 1, 3, 10, 30, … up to all, against two random draws of k; so are named sets, against ten random sets of other
   neurons. A case's conditions are one sweep.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from jaxtyping import Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import Site, attn, mlp
from numberline.experiments.two.patches import Patch
from numberline.methods import freezing
from numberline.methods.attribution import Place, attribute, ranking, shuffled
from numberline.methods.draws import Scoreboard
from numberline.methods.freezing import cost, freeze_sites
from numberline.methods.pairs import Pairs
from numberline.methods.scores import Scores
from numberline.tasks.counterfactuals import Hand

Rows = list[dict[str, Any]]
Progress = Callable[[int], None]

SPAN = 3
"""How many layers from the transport layer on."""
DEPTHS = (1, 3, 10, 30, 100, 300, 1000, 3000)
TOP = 20
ATTENTION, MLP = "attention", "mlp"
"""What is frozen, as tables call it."""
DRAWS = 2
"""Random orders beside a ranking."""
SETS = 10
"""Random sets beside the shared one."""


@dataclass(frozen=True, eq=False)
class Meeting:
    """Where numbers meet: the transport layer, the position, the patch of their space, and the examples by case."""

    layer: int
    position: str
    patch: Patch
    cases: tuple[str, ...]
    pairs: Callable[[str, Hand], Pairs]
    """The examples of a case in one hand."""

    def layers(self, lab: Lab) -> range:
        """The layers whose sub-blocks are frozen."""
        return range(self.layer, min(self.layer + SPAN, lab.network.n_layers))


@dataclass(frozen=True, eq=False)
class Ranked:
    """The attribution score of every neuron of some layers in each case, and the order of size that they give."""

    layers: tuple[int, ...]
    scores: Mapping[str, Float[Tensor, "layers neurons"]]
    order: Mapping[str, list[Place]]

    def rows(self, shared: Sequence[Place]) -> Rows:
        """Every neuron with its score and its rank (from 1) in each case, and whether it is in a set."""
        ranks = {case: {place: rank for rank, place in enumerate(order, 1)} for case, order in self.order.items()}
        listed = {case: scores.tolist() for case, scores in self.scores.items()}
        chosen, width = set(shared), next(iter(self.scores.values())).shape[1]
        return [
            {
                "layer": layer,
                "neuron": neuron,
                **{case: listed[case][number][neuron] for case in listed},
                **{f"rank_{case}": ranks[case][layer, neuron] for case in listed},
                "shared": (layer, neuron) in chosen,
            }
            for number, layer in enumerate(self.layers)
            for neuron in range(width)
        ]


def sub_blocks(layers: Sequence[int], position: str) -> list[tuple[tuple[Site, ...], str]]:
    """What is frozen: nothing, each sub-block alone, then MLPs together."""
    alone = [((attn(layer).at(position),), ATTENTION) for layer in layers[1:]]
    several = [(tuple(mlp(layer).at(position) for layer in chosen), MLP) for chosen in subsets(layers)]
    return [((), "none"), *alone, *several]


def subsets(layers: Sequence[int]) -> list[tuple[int, ...]]:
    """Each layer alone, two by two, and so on."""
    return [chosen for size in range(1, len(layers) + 1) for chosen in combinations(layers, size)]


def freeze_blocks(lab: Lab, meeting: Meeting, progress: Progress) -> tuple[Scoreboard, Rows]:
    """The patch with each sub-block frozen, and what freezing each MLP costs; on evaluation examples."""
    frozen = sub_blocks(meeting.layers(lab), meeting.position)
    board, lost = Scoreboard(), Rows()
    for case in meeting.cases:
        examples = meeting.pairs(case, "evaluation")
        scores = freeze_sites(examples, meeting.patch, [sites for sites, _ in frozen], progress)
        board.add(scores, [{"case": case, **describe(sites, kind)} for sites, kind in frozen])
        lost += costs(case, scores, frozen)
    return board, lost


def choose_mlps(lab: Lab, meeting: Meeting, progress: Progress) -> Rows:
    """What freezing each MLP alone costs on the examples that choose."""
    alone = [((mlp(layer).at(meeting.position),), MLP) for layer in meeting.layers(lab)]
    frozen: list[tuple[tuple[Site, ...], str]] = [((), "none"), *alone]
    lost = Rows()
    for case in meeting.cases:
        examples = meeting.pairs(case, "choosing")
        scores = freeze_sites(examples, meeting.patch, [sites for sites, _ in frozen], progress)
        lost += costs(case, scores, frozen)
    return lost


def describe(sites: Sequence[Site], kind: str) -> dict[str, Any]:
    """The labels of what is frozen: "mlp 14", "mlp 14+15", "attention 15", "none"."""
    layers = [site.layer for site in sites]
    return {"frozen": f"{kind} {'+'.join(map(str, layers))}".strip(), "kind": kind, "layers": layers}


def costs(case: str, scores: Scores, frozen: Sequence[tuple[Sequence[Site], str]]) -> Rows:
    """The pooled recovery that freezing each single MLP costs, paired by example with the patch alone."""
    rows = []
    for number, (sites, what) in enumerate(frozen):
        if len(sites) == 1 and what == MLP:
            rows.append({"case": case, "layer": sites[0].layer, **cost(scores, number).columns})
    return rows


def rank(meeting: Meeting, layers: Sequence[int], progress: Progress) -> Ranked:
    """Attribution of all neurons of some layers, in each case."""
    scores = {
        case: attribute(meeting.pairs(case, "fitting"), meeting.patch, layers, meeting.position, progress)
        for case in meeting.cases
    }
    return Ranked(tuple(layers), scores, {case: ranking(found, layers) for case, found in scores.items()})


def depths(lab: Lab, layers: Sequence[int]) -> list[int]:
    """How many neurons are frozen, up to all."""
    count = lab.network.d_mlp * len(layers)
    return sorted({*(k for k in DEPTHS if k < count), min(count, DEPTHS[-1])})


def runs(lab: Lab, layers: Sequence[int]) -> int:
    """How many conditions `freeze_neurons` has in each case."""
    return (1 + DRAWS) * len(depths(lab, layers)) + 3 + SETS


def random_sets(
    lab: Lab, layers: Sequence[int], shared: Sequence[Place], seed: int, draws: int = SETS
) -> list[list[Place]]:
    """Random sets of as many neurons of the same layers as are shared, none of which is shared."""
    orders = [shuffled(lab.network.d_mlp, layers, seed + draw) for draw in range(draws)]
    return [[place for place in order if place not in set(shared)][: len(shared)] for order in orders]


def freeze_neurons(
    lab: Lab, meeting: Meeting, ranked: Ranked, shared: Sequence[Place], seed: int, progress: Progress
) -> tuple[Scoreboard, Scoreboard]:
    """Freeze-k curves, and named sets: none, the shared ones, the case's own top, as many random others."""
    randoms = [shuffled(lab.network.d_mlp, ranked.layers, seed + draw) for draw in range(DRAWS)]
    controls = random_sets(lab, ranked.layers, shared, seed)
    every = depths(lab, ranked.layers)
    curves, named = Scoreboard(), Scoreboard()
    for case, own in ranked.order.items():
        orders = {("attribution", -1): own} | {("random", draw): order for draw, order in enumerate(randoms)}
        along: list[tuple[dict[str, Any], Sequence[Place]]] = [
            ({"ranking": name, "draw": draw}, order[:k]) for (name, draw), order in orders.items() for k in every
        ]
        sets: list[tuple[dict[str, Any], Sequence[Place]]] = [
            ({"frozen": "none", "draw": -1}, ()),
            ({"frozen": "shared", "draw": -1}, shared),
            ({"frozen": "own", "draw": -1}, own[:TOP]),
            *(({"frozen": "random", "draw": draw}, places) for draw, places in enumerate(controls)),
        ]
        examples = meeting.pairs(case, "evaluation")
        conditions = [*along, *sets]
        frozen = [places for _, places in conditions]
        scores = freezing.freeze_neurons(examples, meeting.patch, frozen, meeting.position, progress)
        labels = [{"case": case, **label, "k": len(places)} for label, places in conditions]
        curves.add(scores.some(slice(0, len(along))), labels[: len(along)])
        named.add(scores.some(slice(len(along), None)), labels[len(along) :])
    return curves, named
