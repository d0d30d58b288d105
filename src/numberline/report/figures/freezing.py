"""Panels about freezing, for two numbers (scored by IIA) and for three (by position recovery).

A panel learns from its table which cases there are and what the score is.
"""

from collections.abc import Mapping
from statistics import NormalDist

import numpy as np
from matplotlib.axes import Axes

from numberline.report import error_bars, panels, style
from numberline.results.formatting import estimate
from numberline.results.table import Row, Table

NORMAL = NormalDist().inv_cdf(0.975)


def by_case(axes: Axes, table: Table, column: str, names: Mapping[str, str], headroom: float = 0.22) -> None:
    """Bars of one metric: a cluster for each value of a column, a bar for each case."""
    cases = table.unique("case")
    series: dict[str, list[Row | None]] = {
        style.CASE_TITLE[case]: [mean_over_draws(table.where(case=case, **{column: name})) for name in names]
        for case in cases
    }
    shades = {style.CASE_TITLE[case]: style.colour(case) for case in cases}
    panels.bars(axes, list(names.values()), series, shades, ylabel=_metric(table))
    _range(axes, table, headroom)
    axes.tick_params(axis="x", labelsize=6)
    axes.legend(loc="upper right", ncols=len(cases), columnspacing=0.6, handlelength=1, fontsize=6)


def block_bars(axes: Axes, table: Table) -> str:
    """A patch with one sub-block frozen; what freezing does, in words."""
    order = sorted(table.unique("frozen"), key=lambda name: _order(table.where(frozen=name).rows[0]))
    by_case(axes, table, "frozen", {name: _short(name) for name in order})
    axes.set_xlabel("frozen to its corrupted value")
    return "; ".join(
        f"{case} perturbed: none frozen {estimate(table.one(case=case, frozen='none'))}, lowest with "
        f"{_lowest(table.where(case=case))}"
        for case in table.unique("case")
    )


def _order(row: Row) -> tuple[int, int, str]:
    return (0 if row["frozen"] == "none" else len(row["layers"]), min(row["layers"] or [0]), row["kind"])


def _short(name: str) -> str:
    return name.replace("attention ", "attn\n").replace("mlp ", "MLP\n")


def _lowest(table: Table) -> str:
    alone = [row for row in table if len(row["layers"]) == 1]
    row = min(alone or table.rows, key=lambda row: row["mean"])
    return f"{row['frozen'].replace('mlp', 'MLP')} frozen {estimate(row)}"


def depth_curves(axes: Axes, table: Table, sets: Table) -> str:
    """A patch with the top k, or k random neurons, frozen; by which k half is lost, in words."""
    said = []
    for case in table.unique("case"):
        own, none = table.where(case=case), sets.one(case=case, frozen="none")["mean"]
        panels.curve(axes, own.where(ranking="attribution"), "k", style.CASE_TITLE[case], style.colour(case))
        random = own.where(ranking="random")
        rows = tuple(mean_over_draws(random.where(k=k)) for k in random.unique("k"))
        panels.curve(axes, Table(random.name, rows, random.columns), "k", "", style.colour(case), dashed=True)
        axes.axhline(none, color=style.colour(case), linewidth=0.6, linestyle=":")
        first = min((row["k"] for row in own.where(ranking="attribution") if row["mean"] <= none / 2), default=None)
        said.append(f"{case} perturbed: " + (f"half is lost by k = {first}" if first else "half is never lost"))
    axes.plot([], [], "--", color=style.COLOURS["baseline"], label="random $k$")
    axes.set_xscale("log")
    axes.set(xlabel="neurons frozen, $k$", ylabel=_metric(table))
    _range(axes, table, 0.36)
    axes.legend(loc="upper right", ncols=2, columnspacing=0.6, fontsize=6)
    return "; ".join(said)


def mean_over_draws(table: Table) -> Row:
    """A row as it is, or the mean over random draws; its error is that of one draw or the spread, if larger."""
    if len(table) == 1:
        return table.rows[0]
    means = table.array("mean").astype(float)
    spread = float(means.std(ddof=1) / np.sqrt(len(means)))
    error = max(spread, float(table.array("se").astype(float).mean()))
    mean, half = float(means.mean()), NORMAL * error
    found = {"mean": mean, "se": error, "lo": mean - half, "hi": mean + half, "draws": len(table)}
    return {**table.rows[0], **found, "interval": error_bars.NORMAL}


def _metric(table: Table) -> str:
    return style.METRIC[table.rows[0]["metric"]]


def _range(axes: Axes, table: Table, headroom: float) -> None:
    if table.rows[0]["metric"] == "iia":
        panels.unit_range(axes, headroom)
    else:
        panels.from_zero(axes, headroom)
