"""Which models come with the package, and what are they? Read from their folders, without loading weights or torch."""

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path

from numberline.errors import NumberlineError

BUILT_IN = Path(__file__).parent / "builtin"
"""Where the trained ones are, each in a folder."""

TRAINED = {
    "tiny": "trained by interchange interventions to compare as the paper describes; the default",
    "direct": "trained on the task alone; solves it another way: the negative control",
}
COMPILED = {
    "planted": "not trained: every direction, head and neuron in it is known; two digits, two or three operands"
}


@dataclass(frozen=True)
class BuiltIn:
    """A model in the package."""

    name: str
    what: str
    shape: str


def built_in_models() -> tuple[BuiltIn, ...]:
    """The models of the package: the trained ones, then the compiled one, which has no weights on disk."""
    trained = (BuiltIn(name, what, _shape(name)) for name, what in TRAINED.items())
    compiled = (BuiltIn(name, what, "compiled when it is loaded") for name, what in COMPILED.items())
    return (*trained, *compiled)


def _shape(name: str) -> str:
    try:
        config = json.loads((BUILT_IN / name / "config.json").read_text(encoding="utf-8"))
        parameters = _count(BUILT_IN / name / "model.safetensors")
    except OSError as error:
        raise NumberlineError(
            f"the built-in model {name!r} is not complete ({error.filename} is missing): install the package again"
        ) from error
    layers, width, heads = (config[key] for key in ("num_hidden_layers", "hidden_size", "num_attention_heads"))
    return f"{layers} layers, width {width}, {heads} heads, {parameters:,} parameters"


def _count(weights: Path) -> int:
    """The number of parameters in a safetensors file, from its header: eight bytes of length, then JSON."""
    with weights.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")
