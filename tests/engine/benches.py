"""Small random models of every supported family, and prompts to run them on."""

from dataclasses import dataclass
from functools import cache
from types import MethodType

import torch
from oracle import Oracle
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from numberline.engine.lab import Lab
from numberline.engine.loading import wrap as proven
from numberline.engine.prompts import Prompts
from numberline.engine.recording import Recording
from numberline.models.catalogue import BUILT_IN
from numberline.tasks.layout import encode
from numberline.tasks.task import Task

SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
GROUPED = {**SMALL, "num_key_value_heads": 2}
# Every peculiarity is switched on: biases, windows shorter than the prompt, soft-capping, layers without rotation.
CONFIGS = {
    "qwen2": {**GROUPED, "use_sliding_window": True, "sliding_window": 9, "max_window_layers": 2},
    "llama": {**GROUPED, "attention_bias": True, "mlp_bias": True},
    "mistral": {**GROUPED, "sliding_window": 11, "head_dim": 12},
    "smollm3": {**GROUPED, "no_rope_layers": [1, 0, 1]},
    "qwen3": {**GROUPED, "head_dim": 16},
    "gemma2": {
        **GROUPED, "head_dim": 16, "sliding_window": 10, "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0,
    },
    "gemma3_text": {
        **GROUPED, "head_dim": 16, "sliding_window": 10,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
    "olmo2": GROUPED,
    "phi3": {**GROUPED, "sliding_window": 11},
    "granite": {
        **GROUPED, "embedding_multiplier": 3.0, "attention_multiplier": 0.3, "residual_multiplier": 0.6,
        "logits_scaling": 4.0, "mlp_bias": True,
    },
    "cohere": {**GROUPED, "use_qk_norm": True, "logit_scale": 0.3, "attention_bias": True},
    "cohere2": {**GROUPED, "sliding_window": 10, "logit_scale": 0.3},
    "arcee": {**GROUPED, "mlp_bias": True},
    "starcoder2": {**GROUPED, "sliding_window": 9},
    "phi": {**GROUPED, "qk_layernorm": True, "partial_rotary_factor": 0.5},
    "gpt_neox": {**SMALL, "use_parallel_residual": True},
    "gpt_neox-sequential": {**SMALL, "use_parallel_residual": False},
    "gpt2": {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_inner": 48, "scale_attn_by_inverse_layer_idx": True},
}  # fmt: skip

# Architectures that have no row of their own, and the row that each is proven to have.
UNKNOWN = {
    "olmo": ("llama", {**GROUPED, "clip_qkv": 0.7}),
    "helium": ("llama", {**GROUPED, "head_dim": 8}),
    "stablelm": ("llama", {**GROUPED, "use_qkv_bias": True, "qk_layernorm": True}),
    "stablelm-parallel": ("cohere", {**GROUPED, "use_parallel_residual": True}),
    "glm": ("phi3", {**GROUPED, "head_dim": 8, "attention_bias": True}),
    "olmo3": ("olmo2", {**GROUPED, "sliding_window": 9}),
    "exaone4": ("olmo2", {**GROUPED, "sliding_window": 9, "sliding_window_pattern": 2}),
    "nemotron": ("ungated", {**GROUPED, "head_dim": 8}),
}


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
