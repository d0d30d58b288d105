"""Every engine test may ask for a bench: of each family in both precisions, of each in fp64, or of Qwen2 alone."""

import pytest
import torch
import transformers.models.cohere.modeling_cohere as cohere
import transformers.models.cohere2.modeling_cohere2 as cohere2
from architectures import CONFIGS
from benches import Bench, cached_bench

CASES = [(family, dtype) for family in CONFIGS for dtype in (torch.float64, torch.float32)]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{str(case[1])[6:]}")
def any_bench(request) -> Bench:
    return cached_bench(*request.param)


@pytest.fixture(params=list(CONFIGS))
def double_bench(request) -> Bench:
    return cached_bench(request.param, torch.float64)


@pytest.fixture
def qwen_bench() -> Bench:
    return cached_bench("qwen2", torch.float64)


@pytest.fixture(autouse=True)
def attention_in_double(monkeypatch):
    """The same for Hugging Face's eager attention, which asks for an fp32 softmax, and for Cohere's rotation."""
    plain = torch.nn.functional.softmax

    def softmax(x, dim=None, dtype=None, **rest):
        return plain(x, dim=dim, dtype=None if x.dtype == torch.float64 else dtype, **rest)

    monkeypatch.setattr(torch.nn.functional, "softmax", softmax)

    def rotated(q, k, cos, sin):
        return tuple(x * cos[:, None] + cohere.rotate_half(x) * sin[:, None] for x in (q, k))

    for module in (cohere, cohere2):
        monkeypatch.setattr(module, "apply_rotary_pos_emb", rotated)
