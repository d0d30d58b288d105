"""The identity of a model changes with every weight, with its config and with its tokenizer, and with nothing else."""

import json

import pytest
import torch
from accelerate import cpu_offload, disk_offload
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from numberline.models.catalogue import BUILT_IN
from numberline.models.loaded import fingerprint

SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "vocab_size": 306,
}


@pytest.fixture
def model():
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(AutoConfig.for_model("qwen2", **SMALL, tie_word_embeddings=True))


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(BUILT_IN / "tiny")


def test_every_single_weight_counts(model):
    before, found = fingerprint(model), set()
    names = [name for name, _ in model.named_parameters()]
    for name in names:
        weight = model.get_parameter(name).data
        place = (-1,) * weight.dim()  # the very last value: a sample would miss it
        kept = weight[place].clone()
        weight[place] += 1e-3
        found.add(fingerprint(model))
        weight[place] = kept
    assert fingerprint(model) == before
    assert len(found) == len(names)
    assert before not in found


def test_a_zeroed_neuron_is_another_model(model):
    before = fingerprint(model)
    model.model.layers[1].mlp.down_proj.weight.data[:, 7] = 0
    assert fingerprint(model) != before


def test_two_weights_that_change_places_are_another_model(model):
    before = fingerprint(model)
    one, two = (layer.mlp.up_proj.weight for layer in model.model.layers)
    one.data, two.data = two.data, one.data
    assert fingerprint(model) != before


def test_the_dtype_counts(model):
    assert len({fingerprint(model.to(dtype)) for dtype in (torch.float64, torch.float32, torch.bfloat16)}) == 3


def test_the_config_counts_but_not_where_it_came_from(model):
    before = fingerprint(model)
    model.config._name_or_path, model.config.transformers_version = "elsewhere", "0"
    assert fingerprint(model) == before
    model.config.rms_norm_eps = 1e-5
    assert fingerprint(model) != before


def test_the_tokenizer_counts_but_not_what_it_was_used_for(model, tokenizer):
    before = fingerprint(model, tokenizer)
    assert before != fingerprint(model)
    tokenizer(["a", "b c d"], padding=True, truncation=True, max_length=2)
    assert fingerprint(model, tokenizer) == before
    rules = json.loads(tokenizer.backend_tokenizer.to_str())
    one, two = list(rules["model"]["vocab"])[-2:]
    vocab = rules["model"]["vocab"]
    vocab[one], vocab[two] = vocab[two], vocab[one]
    other = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(json.dumps(rules)), pad_token="<|endoftext|>")
    assert fingerprint(model, other) != before


@pytest.mark.parametrize("where", ["cpu", "disk"])
def test_weights_that_are_kept_elsewhere_count_too(model, where, tmp_path):
    before = fingerprint(model)
    cpu_offload(model, "cpu") if where == "cpu" else disk_offload(model, str(tmp_path), "cpu")
    assert any(parameter.is_meta for parameter in model.parameters())
    assert fingerprint(model) == before
