"""The planted model with its true directions, and small sizes: what the experiments on the shared plane start from."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest
import torch
from transformers import AutoTokenizer

from numberline.engine.lab import Lab
from numberline.experiments.common.experiment import Context, Result
from numberline.experiments.three.space import ThreeSpace
from numberline.experiments.two.patches import SharedSpace
from numberline.methods import das
from numberline.models.catalogue import BUILT_IN
from numberline.models.loaded import wrap
from numberline.models.planted import Truth, planted
from numberline.seed import SEED
from numberline.tasks import QUICK
from numberline.tasks.counterfactuals import needed
from numberline.tasks.sizes import Sizes

SMALL = replace(
    QUICK,
    evaluation=50,
    fitting=16,
    choosing=16,
    number_cloud=200,
    shared_cloud=300,
    edge_cloud=120,
    dose_prompts=8,
    field_stride=6,
)
CONTEXT = Context(SMALL)


@cache
def lab_and_truth() -> tuple[Lab, Truth]:
    model, truth = planted()
    return Lab.of(wrap(model, AutoTokenizer.from_pretrained(BUILT_IN / "tiny"), "planted")), truth


def true_space() -> SharedSpace:
    truth = lab_and_truth()[1]
    named = truth.directions[2]
    return SharedSpace(truth.number_layer, truth.transport_heads["y1"][0], named["u"], named["v1"], named["v2"])


def means(result: Result, table: str, *keys: str, metric: str = "iia", **where: object) -> dict:
    """The means of a table's rows, by some of its columns."""
    rows = [row for row in result.rows(table) if row.get("metric", metric) == metric]
    rows = [row for row in rows if all(row[name] == value for name, value in where.items())]
    found = {}
    for row in rows:
        parts = tuple(tuple(row[name]) if isinstance(row[name], list) else row[name] for name in keys)
        key = parts if len(parts) > 1 else parts[0]
        assert key not in found, f"{keys} do not tell the rows of {table} apart"
        found[key] = row["mean"]
    return found


def three_space() -> ThreeSpace:
    """The planted directions of three numbers. y1 is not at y2's position in the number layer: w1 is any direction."""
    truth = lab_and_truth()[1]
    named, heads = truth.directions[3], [truth.transport_heads[operand][0] for operand in ("y1", "y2")]
    directions = {name: named[name] for name in ("u1", "u2", "v1", "v2", "v3")}
    return ThreeSpace(truth.number_layer, heads[0], heads[1], **directions, w1=named["v1"])


def all_solved(sizes: Sizes) -> Context:
    """A context of three numbers in which every candidate counts as solved."""
    solved = torch.ones(max(sizes.candidates, needed(sizes)))
    return Context(sizes, needs={"k3.trace": Result.of({}, 0, {"solved": solved})})


def short_fits_of(few: int) -> Callable[[], Iterator[None]]:
    """A fixture: DAS with few steps; progress is told the full number, so that counts still add up."""
    whole = das.fit_cases

    def short(cases, site, rank=1, seeds=(SEED,), steps=0, rate=das.RATE, progress=None, starts=(), patience=0):
        fits = whole(cases, site, rank, seeds, few, rate, None, starts)
        if progress is not None:
            progress(das.STEPS * len(cases))
        return fits

    def fixture() -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(das, "fit_cases", short)
            yield

    return fixture
