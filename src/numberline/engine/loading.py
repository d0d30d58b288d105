"""How does a model become a Lab, and what is shown about it first?

1. Its parts are found by the row of its `model_type` in `numberline.models.families`. A type that has no row is tried
   with every row, in order: a layout is not believed, it is proven.
2. The self-check (`numberline.engine.parity`) compares every site of every layer with the model's own forward pass. A
   model that no row describes is refused, with what was tried.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from numberline.engine.lab import Lab
from numberline.engine.memory import is_out_of_memory
from numberline.engine.parity import Comparison, check_finite, self_check
from numberline.errors import NumberlineError
from numberline.models.families import FAMILIES, ROWS, Family
from numberline.models.loaded import LoadedModel, fingerprint
from numberline.models.loading import read
from numberline.models.network import Network

logger = logging.getLogger("numberline")


def load(
    name: str = "tiny",
    device: str | None = None,
    dtype: str = "float32",
    device_map: str | dict[str, str] | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
) -> Lab:
    """A Lab with a model in it: a built-in one, a folder with Hugging Face weights, a GGUF file, or a Hub id."""
    model, tokenizer = read(name, device, dtype, device_map, revision, trust_remote_code)
    lab = wrap(model, tokenizer, name)
    return replace(lab, loaded=replace(lab.loaded, revision=revision))


def wrap(model: Any, tokenizer: Any, name: str = "model") -> Lab:
    """A Lab with a model that is already in memory; its weights are frozen and it is put in evaluation mode."""
    model.eval().requires_grad_(False)
    try:
        check_finite(model)
        return _proven(model, tokenizer, name)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise NumberlineError(
            f"memory ran out while '{name}' was checked on a few tokens: use a smaller model, a half-precision dtype, "
            "or spread the model over devices with device_map"
        ) from error


def _proven(model: Any, tokenizer: Any, name: str) -> Lab:
    """The model seen as the first row that holds on it."""
    kind, identity = model.config.model_type, fingerprint(model, tokenizer)
    reasons: dict[str, list[str]] = {}
    for family in (FAMILIES[kind],) if kind in FAMILIES else ROWS:
        try:
            lab = Lab.of(LoadedModel(name, Network.of(model, family), tokenizer, identity))
            found = self_check(lab)
        except Exception as error:
            if is_out_of_memory(error):
                raise
            # A module of another layout fails in its own way: whatever it is, this row is not the model's.
            reason = str(error) if isinstance(error, NumberlineError) else f"{type(error).__name__}, {error}"
            reasons.setdefault(reason.splitlines()[0], []).append(family.name)
            continue
        if found.holds:
            if kind not in FAMILIES:
                logger.warning(_accepted(kind, family, found))
            return lab
        reasons.setdefault(str(found), []).append(family.name)
    raise NumberlineError(_refused(kind, reasons))


def _accepted(kind: str, family: Family, largest: Comparison) -> str:
    return (
        f"The architecture '{kind}' has no row of its own: the layout '{family.name}' was tried on this very model and "
        "is proven, because every site of every layer, and the logits, are those of the model's own forward pass "
        f"(largest difference: {largest.error:.1g}, at {largest.what})."
    )


def _refused(kind: str, reasons: Mapping[str, list[str]]) -> str:
    if kind in FAMILIES:
        (reason,) = reasons
        return (
            f"this model is of the architecture '{kind}' but does not compute as the row '{FAMILIES[kind].name}' of "
            f"numberline/models/families.py says ({reason}): results on it would be wrong, so it is refused"
        )
    tried = "; ".join(f"{', '.join(rows)}: {reason}" for reason, rows in reasons.items())
    return (
        f"the architecture '{kind}' is not supported: none of the known layouts is proven on this model ({tried}); use "
        "another model, or add a row to numberline/models/families.py"
    )
