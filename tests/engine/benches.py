"""Small random models of every supported family, and prompts to run them on."""

from dataclasses import dataclass
from functools import cache
from types import MethodType

import torch
from architectures import CONFIGS, UNKNOWN
from oracle import Oracle
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from numberline.engine.lab import Lab
from numberline.engine.loading import wrap as proven
from numberline.engine.prompts import Prompts
from numberline.engine.recording import Recording
from numberline.models.catalogue import BUILT_IN
from numberline.tasks.layout import encode
from numberline.tasks.task import Task


@dataclass
class Bench:
    """A model with its lab and its oracle, and a clean and a corrupted batch recorded on it."""

    family: str
    lab: Lab
    oracle: Oracle
    prompts: dict[str, Prompts]
    recordings: dict[str, Recording]
    found: dict[str, dict]

    @property
    def tolerance(self) -> float:
        return 1e-10 if self.lab.network.dtype == torch.float64 else 1e-5

    def close(self, got: torch.Tensor, want: torch.Tensor) -> bool:
        assert got.shape == want.shape
        return bool((got - want).abs().max() < self.tolerance * max(1.0, float(want.abs().max())))

    def moved(self, one: torch.Tensor, other: torch.Tensor) -> bool:
        """Whether two values differ by far more than could pass as equal, in fp64, where small effects still show."""
        return self.lab.network.dtype != torch.float64 or bool((one - other).abs().max() > 100 * self.tolerance)

    @property
    def clean(self) -> Recording:
        return self.recordings["clean"]

    @property
    def corrupted(self) -> Recording:
        return self.recordings["corrupted"]


def small_model(family: str, dtype: torch.dtype = torch.float64):
    torch.manual_seed(52)
    kind = family.split("-")[0]
    given = CONFIGS[family] if family in CONFIGS else UNKNOWN[family][1]
    config = AutoConfig.for_model(kind, vocab_size=306, initializer_range=0.25, pad_token_id=0, **given)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    for name, parameter in model.named_parameters():
        # Norm scales and biases start at constants that would hide a mistake.
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, 1.0 if "norm" in name or "ln_" in name else 0.0, 0.3)
    if dtype == torch.float64:
        in_double_throughout(model)
    return model.to(dtype).eval()


def _rms_norm_in_double(self, x):
    """The family's RMS norm, computed in x's own precision (Hugging Face's is always fp32 inside)."""
    scale = 1 + self.weight if type(self).__name__.startswith("Gemma") else self.weight
    eps = getattr(self, "variance_epsilon", getattr(self, "eps", None))
    return scale * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


def _layer_norm_in_double(self, x):
    """Cohere's norm, the same."""
    centred = x - x.mean(-1, keepdim=True)
    return self.weight * centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


def in_double_throughout(model) -> None:
    """Let an fp64 model be fp64 inside its norms too, so that agreement to 1e-10 can be asked for."""
    for module in model.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = MethodType(_rms_norm_in_double, module)
        if type(module).__name__ in ("CohereLayerNorm", "Cohere2LayerNorm"):
            module.forward = MethodType(_layer_norm_in_double, module)


def bench(family: str, dtype: torch.dtype = torch.float64) -> Bench:
    tokenizer = AutoTokenizer.from_pretrained(BUILT_IN / "tiny")
    model = small_model(family, dtype)
    lab, oracle = proven(model, tokenizer, family), Oracle(model)
    operands = {
        "clean": [(60, 10), (95, 31), (72, 44), (88, 23)],
        "corrupted": [(13, 10), (14, 31), (21, 44), (11, 23)],
    }
    prompts = {name: encode(tokenizer, Task(), values) for name, values in operands.items()}
    found: dict[str, dict] = {"clean": {}, "corrupted": {}}
    with torch.no_grad():
        for name, batch in prompts.items():
            found[name]["logits"] = oracle.logits(batch.ids, found=found[name])
    return Bench(family, lab, oracle, prompts, {n: lab.record(p) for n, p in prompts.items()}, found)


@cache
def cached_bench(family: str, dtype: torch.dtype) -> Bench:
    return bench(family, dtype)
