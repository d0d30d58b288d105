"""numberline finds, causally, the straight line that a language model computes with inside a curved representation.

The names below are the public face. They are imported when first used, so that `import numberline` does not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from numberline.engine.edits import add, freeze, set_coordinates, swap, transform, zero
    from numberline.engine.lab import Lab, Read, Reading
    from numberline.engine.loading import load, wrap
    from numberline.engine.prompts import Prompts
    from numberline.engine.recording import Recording
    from numberline.engine.sites import EVERYWHERE, Site, attn, head, mid, mlp, neurons, pattern, resid
    from numberline.engine.subspace import Subspace
    from numberline.errors import NumberlineError
    from numberline.experiments.common.experiment import Context, Experiment, experiment
    from numberline.library import OpenRun, attribute, fit, open_run, run, score, sweep, trace
    from numberline.methods.pairs import Pairs
    from numberline.results.folder import RunFolder
    from numberline.results.result import Result
    from numberline.results.roles import Role
    from numberline.results.subspace import StoredSubspace
    from numberline.results.table import Table
    from numberline.runs.run import Run, Settings
    from numberline.tasks import (
        MAX,
        MIN,
        PAPER,
        QUICK,
        Concept,
        Counterfactual,
        Sentence,
        Sizes,
        Task,
        Words,
        answer_ids,
        clean_operands,
        cloud,
        corrupted_operands,
        encode,
        ordered,
        perturb,
        pool,
        read_counterfactuals,
        record_pairs,
        write_counterfactuals,
    )

_HOME = {
    "numberline.engine.edits": "add freeze set_coordinates swap transform zero",
    "numberline.engine.lab": "Lab Read Reading",
    "numberline.engine.loading": "load wrap",
    "numberline.engine.prompts": "Prompts",
    "numberline.engine.recording": "Recording",
    "numberline.engine.sites": "EVERYWHERE Site attn head mid mlp neurons pattern resid",
    "numberline.engine.subspace": "Subspace",
    "numberline.errors": "NumberlineError",
    "numberline.experiments.common.experiment": "Context Experiment experiment",
    "numberline.library": "OpenRun attribute fit open_run run score sweep trace",
    "numberline.methods.pairs": "Pairs",
    "numberline.results.folder": "RunFolder",
    "numberline.results.result": "Result",
    "numberline.results.roles": "Role",
    "numberline.results.subspace": "StoredSubspace",
    "numberline.results.table": "Table",
    "numberline.runs.run": "Run Settings",
    "numberline.tasks": (
        "MAX MIN PAPER QUICK Concept Counterfactual Sentence Sizes Task Words answer_ids clean_operands cloud "
        "corrupted_operands encode ordered perturb pool read_counterfactuals record_pairs write_counterfactuals"
    ),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = [
    "EVERYWHERE",
    "MAX",
    "MIN",
    "PAPER",
    "QUICK",
    "Concept",
    "Context",
    "Counterfactual",
    "Experiment",
    "Lab",
    "NumberlineError",
    "OpenRun",
    "Pairs",
    "Prompts",
    "Read",
    "Reading",
    "Recording",
    "Result",
    "Role",
    "Run",
    "RunFolder",
    "Sentence",
    "Settings",
    "Site",
    "Sizes",
    "StoredSubspace",
    "Subspace",
    "Table",
    "Task",
    "Words",
    "add",
    "answer_ids",
    "attn",
    "attribute",
    "clean_operands",
    "cloud",
    "corrupted_operands",
    "encode",
    "experiment",
    "fit",
    "freeze",
    "head",
    "load",
    "mid",
    "mlp",
    "neurons",
    "open_run",
    "ordered",
    "pattern",
    "perturb",
    "pool",
    "read_counterfactuals",
    "record_pairs",
    "resid",
    "run",
    "score",
    "set_coordinates",
    "swap",
    "sweep",
    "trace",
    "transform",
    "wrap",
    "write_counterfactuals",
    "zero",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'numberline' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
