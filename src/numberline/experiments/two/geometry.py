"""Does the model compute with the line, or with the curve on which the numbers lie?

That a line suffices does not say that the curve is unused, nor that the line is needed. Five looks, all on evaluation
examples; what is swapped, moved or removed was found on others.

1. Complement: everything but u is swapped at y1, everything but the plane in the pre-MLP residual at y2, everything but
   the flag. Beside the part itself, the whole, and random parts of that rank and everything but those.
2. Necessity: on un-corrupted prompts, the component along u, v1, v2, the plane and the flag is set to its mean over the
   cloud. How often is the answer still right, and how much of the logit difference is left? Beside random directions
   along which the cloud spreads as much (methods/manifold.py).
3. Fits put back: y1's state becomes what a fit says of the number alone: line, polynomial, helix, curve, mean. On
   un-corrupted prompts, its own number's: what is left of the answer? On corrupted ones, the clean number's: all of it,
   only its component along u (the rest is the fit's of the corrupted number), or only the rest. A token sees nothing
   that comes after it: y1's state is a function of y1, its mean is the state itself, and that fit the ceiling.
4. Moves: from the corrupted number's place towards another number by the smooth curve's difference between the two.
   (held) with the component along u held, (line) along u alone, off the curve, (curve) as it is, and (point) to the
   curve's point itself. All the way to the clean number; and, as doses, to numbers so far above or below y2.
5. Crossed: y1's state with the component along u of one number and the rest of another, both drawn at random. How much
   of the answer's variation does the line's number explain, whatever the rest is?

Tables (each with NAME_scored: every example, as in two/number.py)
- `complement`: place ("u", "plane", "flag"), case, condition ("full", "part", "rest", "random part", "random rest"), …
- `necessity`: direction ("none", "u", "v1", "v2", "plane", "flag"), case (the operand that wins), condition ("mean",
  "random"; "whole": everything at that site), draws, spread, metric (iia: the accuracy; pooled: the share of the logit
  difference that is left), …
- `survival`: case (the operand that wins), condition (the fit), … with the metrics of `necessity`.
- `fits`: fit, condition ("all", "line", "rest"), …
- `moves`: condition ("full", "held", "line", "curve", "point"), …
- `doses` (alone): move, dose (numbers above y2), mean, se, n, lo, hi: how often y1's operand is named.
- `crossed` (alone): of ("line", "rest", "together"), mean, se, n, lo, hi: shares of the logit difference's variation.
Where there is no transport head, pre-MLP residual or flag, their rows are left out. Case y1 unless a table says it.
"""

from typing import Any

import torch

from numberline.engine.edits import Edit, add, swap
from numberline.engine.lab import Lab
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.geometry_parts import Part, States, parts_of, read_cloud, untouched
from numberline.experiments.two.patches import RANDOM_DRAWS, SPACE, case_pairs
from numberline.methods.das import random_subspaces
from numberline.methods.draws import Scoreboard
from numberline.methods.intervals import share
from numberline.methods.manifold import crossed
from numberline.methods.pairs import Pairs
from numberline.methods.scores import score
from numberline.results.cases import CASES
from numberline.tasks.pairs import CounterfactualPairs

WHOLE = {"u": ("y1",), "plane": CASES, "flag": CASES}
"""Of which parts everything else is swapped, and in which cases: y2's change does not pass through y1's position."""
DOSES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""How far from y2 a number is moved, as shares of the range."""
CROSSINGS = 8
"""Tables of two numbers along the line and two off it, for each example."""

Rows = list[dict[str, Any]]


@experiment("k2.geometry", needs=(*SPACE, "k2.flag"))
def geometry(lab: Lab, context: Context) -> Result:
    """Does the model compute with the line, or with the curve on which the {nouns} lie?"""
    return measure(lab, context, parts_of(lab, context))


def measure(lab: Lab, context: Context, parts: dict[str, Part]) -> Result:
    """The five looks, given what was found; of the parts, u is needed."""
    count = context.meter(5)
    pairs_of = {case: case_pairs(lab, context, case) for case in CASES}
    boards = {name: Scoreboard() for name in ("complement", "necessity", "survival", "fits", "moves")}
    states = States.of(lab, context, parts["u"])
    for name, cases in WHOLE.items():
        for case in cases if name in parts else ():
            conditions = complement(pairs_of[case], parts[name], context.seed)
            boards["complement"].draws(pairs_of[case], conditions, {"place": name, "case": case})
    count(1)
    seen = read_cloud(lab, context, parts)
    for case, pairs in pairs_of.items():
        whole = untouched(pairs)
        boards["necessity"].draws(whole, {"mean": [[]]}, {"direction": "none", "case": case})
        for name, part in parts.items():
            conditions = part.removed(seen[name], context.seed)
            boards["necessity"].draws(whole, conditions, {"direction": name, "case": case})
        put_back = {fit: [[swap(states.part.site, states.at(fit, numbers(whole)))]] for fit in states.fits}
        boards["survival"].draws(whole, put_back, {"case": case})
    count(1)
    pairs = pairs_of["y1"]
    for fit in states.fits:
        boards["fits"].draws(pairs, exchanged(pairs, states, fit), {"case": "y1", "fit": fit})
    count(1)
    clean = [e.clean[0] for e in pairs.examples]
    full = {"full": [[swap(states.part.site, pairs.clean)]]}
    all_the_way = {name: [[edit]] for name, edit in moves(pairs, states, clean).items()}
    boards["moves"].draws(pairs, full | all_the_way, {"case": "y1"})
    few = pairs.part(slice(0, context.sizes.dose_prompts))
    alone = {"doses": doses(few, states)}
    count(1)
    alone["crossed"] = cross(few, states, context.seed)
    count(1)
    tables = {key: table for name, board in boards.items() for key, table in board.tables(name).items()}
    return Result.of({**tables, **alone}, n=len(pairs))


def numbers(pairs: CounterfactualPairs) -> list[int]:
    """y1 of the clean prompts."""
    return [e.clean[0] for e in pairs.examples]


def complement(pairs: Pairs, part: Part, seed: int) -> dict[str, list[list[Edit]]]:
    """Swaps of all, of a part and of everything but the part, and the same of random parts."""
    width, rank = part.space.basis.shape
    site, drawn = part.site, random_subspaces(width, rank, RANDOM_DRAWS, seed)
    found: dict[str, list[list[Edit]]] = {"full": [[swap(site, pairs.clean)]]}
    for name, spaces in (("", [part.space]), ("random ", drawn)):
        found[f"{name}part"] = [[swap(site, pairs.clean, space)] for space in spaces]
        # All is swapped, and then the part is put back.
        found[f"{name}rest"] = [[swap(site, pairs.clean), swap(site, pairs.corrupted, space)] for space in spaces]
    return found


def exchanged(pairs: CounterfactualPairs, states: States, fit: str) -> dict[str, list[list[Edit]]]:
    """A fit's state of the clean number, all of it, its component along the line only, or only the rest."""
    clean, corrupted = numbers(pairs), [e.corrupted[0] for e in pairs.examples]
    taken = {"all": (clean, clean), "line": (clean, corrupted), "rest": (corrupted, clean)}
    return {name: [[swap(states.part.site, states.mixed(fit, *of))]] for name, of in taken.items()}


def moves(pairs: CounterfactualPairs, states: States, targets: list[int]) -> dict[str, Edit]:
    """From the corrupted number's place towards other numbers: four ways."""
    site, there = states.part.site, states.at("curve", targets)
    way = there - states.at("curve", [e.corrupted[0] for e in pairs.examples])
    line = states.along(way)
    return {
        "held": add(site, way - line),
        "line": add(site, line),
        "curve": add(site, way),
        "point": swap(site, there),
    }


def doses(pairs: CounterfactualPairs, states: States) -> Rows:
    """How often y1's operand is named where y1 was moved to so many numbers above y2; those within the range count."""
    steps = sorted({sign * max(round(part * len(states.values)), 1) for part in DOSES for sign in (-1, 1)})
    conditions, labels, inside = [], [], []
    for step in steps:
        wanted = [e.corrupted[1] + step for e in pairs.examples]
        there = [number in states.values for number in wanted]
        reached = [x if ok else e.corrupted[0] for x, ok, e in zip(wanted, there, pairs.examples, strict=True)]
        for name, edit in moves(pairs, states, reached).items():
            conditions.append([edit])
            labels.append({"move": name, "dose": step})
            inside.append(torch.tensor(there))
    hits = score(pairs, conditions).hit
    found = zip(labels, hits, inside, strict=True)
    return [{**label, **share(hit[there]).columns} for label, hit, there in found if bool(there.any())]


def cross(pairs: CounterfactualPairs, states: States, seed: int) -> Rows:
    """States of one number along the line and of another off it: what explains the answers, in tables of two by two."""
    generator = torch.Generator().manual_seed(seed + 3)
    drawn = torch.randint(len(states.values), (CROSSINGS, 2, 2, len(pairs)), generator=generator)
    conditions = [
        [swap(states.part.site, states.mixed("mean", *([states.values[i] for i in each.tolist()] for each in both)))]
        for lines, rests in drawn
        for both in ((line, rest) for line in lines for rest in rests)
    ]
    answers = score(pairs, conditions).pld.reshape(CROSSINGS, 2, 2, -1)
    return [{"of": name, **found.columns} for name, found in crossed(answers).items()]
