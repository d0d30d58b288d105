"""What does a researcher call in a notebook? The methods by name, on pairs of one's own, with a bar while they work.

    lab = nl.load("tiny")                                              # or nl.wrap(model, tokenizer)
    pairs = nl.Pairs.of(lab, clean_texts, corrupted_texts, {"subject": "cat"}, answers)
    nl.trace(pairs).to_pandas()                                        # where is what was changed held?
    u = nl.fit(pairs, nl.resid(1).at("subject")).subspace              # along which direction?
    nl.score(pairs, {"u": [nl.swap(nl.resid(1).at("subject"), pairs.clean, u)]}).to_pandas()
    nl.sweep(pairs, [nl.head(2, h).at("last") for h in range(8)])      # which of these places?
    nl.attribute(pairs, patch, layers=[2, 3], position="last")         # which neurons carry the patch?

    run = nl.run(lab, "runs/mine", only=["k2.trace"], size="quick")    # or nl.open_run("runs/tiny")
    run.table("k2.trace", "trace").to_pandas(), run.figure("app-trace-k2"), run.claims()

Each is the function of the same name in `methods/`; what is added is a progress bar (`progress=False`: none), one
condition or several by name, and frames.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from jaxtyping import Float
from torch import Tensor
from tqdm.auto import tqdm

from numberline.engine.edits import Edit, swap
from numberline.engine.lab import Lab
from numberline.engine.sites import Position, Site, neurons
from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError
from numberline.methods import attribution, das, scores
from numberline.methods import trace as traces
from numberline.methods.pairs import Pairs
from numberline.methods.scores import Scores
from numberline.results.folder import RunFolder
from numberline.results.table import Table
from numberline.seed import SEED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from numberline.claims import Finding

Patch = Sequence[Edit] | Callable[[Pairs], Sequence[Edit]]
"""Edits of these pairs, or a function that makes them for any pairs."""


@dataclass(frozen=True, eq=False)
class NamedScores:
    """The scores of conditions, each by its name."""

    names: tuple[str, ...]
    scores: Scores

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Three rows for each condition (metric: iia, pr, pooled) with mean, se, n, lo, hi."""
        return self.scores.rows([{"condition": name} for name in self.names])

    @property
    def table(self) -> Table:
        """The rows as a table: where, one, grid."""
        return Table.of("scores", pa.Table.from_pylist(self.rows))

    def to_pandas(self) -> Any:
        """The rows as a frame."""
        return self.table.to_pandas()


class TraceMap(traces.Trace):
    """A causal trace: its grid of layers × tokens, its rows, a frame."""

    def to_pandas(self) -> Any:
        """A row for each layer, token and metric."""
        return Table.of("trace", pa.Table.from_pylist(self.rows)).to_pandas()


@contextmanager
def counting(what: str, total: int, shown: bool) -> Iterator[Callable[[int], object]]:
    """A bar, in a terminal or a notebook, that is told how much more was done."""
    with tqdm(total=total, desc=what, disable=not shown, leave=False) as bar:
        yield bar.update


def trace(pairs: Pairs, layers: Sequence[int] | None = None, progress: bool = True) -> TraceMap:
    """Restore every token after every layer (or after some of them) and score each place."""
    n_layers = pairs.lab.network.n_layers if layers is None else len(layers)
    tokens = pairs.clean.length - pairs.clean.prompts.prefix
    with counting("trace", n_layers * tokens * len(pairs), progress) as count:
        found = traces.trace(pairs, layers, progress=count)
    return TraceMap(found.scores, found.layers, found.tokens)


def fit(
    pairs: Pairs,
    site: Site,
    rank: int = 1,
    seed: int = SEED,
    steps: int = das.STEPS,
    rate: float = das.RATE,
    progress: bool = True,
) -> das.Fit:
    """Learn the subspace at a site whose swap moves the answer (DAS)."""
    with counting("fit", steps, progress) as count:
        (found,) = das.fit(pairs, site, rank, (seed,), steps, rate, count)
    return found


def score(pairs: Pairs, conditions: Mapping[str, Patch] | Patch, progress: bool = True) -> NamedScores:
    """Run edits, or several lists of edits by name, on the corrupted prompts and score each example."""
    named = conditions if isinstance(conditions, Mapping) else {"patch": conditions}
    edits = [list(patch(pairs) if callable(patch) else patch) for patch in named.values()]
    with counting("score", len(edits) * len(pairs), progress) as count:
        return NamedScores(tuple(named), scores.score(pairs, edits, count))


def sweep(
    pairs: Pairs, sites: Sequence[Site], along: Subspace | Float[Tensor, "d k"] | None = None, progress: bool = True
) -> NamedScores:
    """Take each site in turn from the clean run, whole or along a subspace."""
    if not sites:
        raise NumberlineError("a sweep needs at least one site")
    return score(pairs, {str(site): [swap(site, pairs.clean, along)] for site in sites}, progress)


def attribute(
    pairs: Pairs, patch: Patch, layers: Sequence[int], position: Position, progress: bool = True
) -> Float[Tensor, "layers neurons"]:
    """The first-order effect of freezing each neuron of these layers, at a position, under a patch.

    Pairs too many for one backward pass are taken in parts, so that edits of theirs are given as a function of pairs.
    """
    if not callable(patch) and das.at_once(pairs, neurons(min(layers)).at(position)) < len(pairs):
        raise NumberlineError(
            f"the gradients of {len(pairs)} pairs do not fit memory at once: give the patch as a function of pairs, "
            "lambda pairs: [swap(site, pairs.clean)]"
        )
    made: Callable[[Pairs], Sequence[Edit]] = patch if callable(patch) else lambda _: patch
    with counting("attribute", len(pairs), progress) as count:
        return attribution.attribute(pairs, made, layers, position, count)


class OpenRun(RunFolder):
    """A run's folder, with its figures and its ledger."""

    def figure(self, label: str, recovery: str = "pooled") -> "Figure":
        """A figure drawn from the results, to be shown or saved, with the pooled position recovery or the paper's."""
        from numberline.report.draw import render
        from numberline.report.recovery import Recovery
        from numberline.report.registry import FIGURES
        from numberline.report.view import RunView

        if label not in FIGURES:
            raise NumberlineError(f"there is no figure {label!r}: choose from {', '.join(FIGURES)}")
        if recovery not in set(Recovery):
            raise NumberlineError(f"there is no recovery {recovery!r}: choose from {', '.join(Recovery)}")
        return render(FIGURES[label], RunView(self, Recovery(recovery))).figure

    def claims(self) -> "tuple[Finding, ...]":
        """Every claim of the paper, tested on the results."""
        from numberline.claims import ledger

        return ledger(self.results)


def open_run(path: str | Path) -> OpenRun:
    """A run's folder that `numberline run` (or `nl.run`) has made."""
    found = OpenRun(path)
    _ = found.about
    return found


def run(
    lab: Lab,
    folder: str | Path,
    only: Sequence[str] = ("*",),
    size: str = "paper",
    seed: int = SEED,
    task: str = "max",
    roles: Mapping[str, tuple[int, ...]] | None = None,
    examples: str | Path | None = None,
    prompt: str = "paper",
    solved: bool = False,
    progress: bool = True,
) -> OpenRun:
    """Run experiments into a folder, as `numberline run` does; a run that was stopped continues where it was."""
    from numberline.runs.run import Run, Settings

    mine = None if examples is None else str(examples)
    settings = Settings(size, seed, task, roles or {}, mine, prompt, solved)
    Run(lab, RunFolder(folder), settings).execute(only, BarWatcher(progress))
    return open_run(folder)


class BarWatcher:
    """Shows how a run goes on, with a bar for the experiment under way."""

    def __init__(self, shown: bool) -> None:
        self.bar = tqdm(disable=not shown, leave=False)

    def started(self, experiment: Any) -> None:
        """A new bar."""
        self.bar.set_description(experiment.id)

    def progress(self, done: int, total: int) -> None:
        """The bar grows."""
        self.bar.total = total
        self.bar.update(done - self.bar.n)

    def finished(self, experiment: Any, meta: Any, kept: bool) -> None:  # noqa: ARG002  the protocol's
        """It is gone."""
        self.bar.reset()

    def warned(self, sentence: str) -> None:
        """A line above the bar."""
        self.bar.write(sentence)
