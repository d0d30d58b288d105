"""The planted model with its true directions, and small sizes: what the experiments on the shared plane start from."""

from dataclasses import replace
from functools import cache

from transformers import AutoTokenizer

from numberline.engine.lab import Lab
from numberline.experiments.experiment import Context, Result
from numberline.experiments.patches import SharedSpace
from numberline.models.loading import BUILT_IN, wrap
from numberline.models.planted import Truth, planted
from numberline.tasks import QUICK

SMALL = replace(
    QUICK, evaluation=50, fitting=16, number_cloud=200, shared_cloud=300, edge_cloud=120, dose_prompts=8, field_stride=6
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
        key = tuple(tuple(row[name]) if isinstance(row[name], list) else row[name] for name in keys)
        assert key not in found, f"{keys} do not tell the rows of {table} apart"
        found[key if len(key) > 1 else key[0]] = row["mean"]
    return found
