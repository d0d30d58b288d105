"""An architecture is believed when it is proven on the very model: rows that hold, rows that do not, unknown types."""

import logging
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from architectures import CONFIGS, SMALL, UNKNOWN
from benches import Bench, bench, small_model
from oracle import OracleEdit
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

from numberline.engine.edits import add
from numberline.engine.lab import Lab, Read
from numberline.engine.loading import load, wrap
from numberline.engine.parity import comparisons, self_check
from numberline.engine.sites import attn, head, mid, mlp, neurons, resid
from numberline.errors import NumberlineError
from numberline.models.catalogue import COMPILED, TRAINED
from numberline.models.families import COHERE, FAMILIES, GEMMA, GRANITE, LLAMA, OLMO2, PHI3, ROWS, UNGATED
from numberline.models.loaded import LoadedModel
from numberline.models.network import Block, Network

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def lab_with(model, family) -> Lab:
    return Lab.of(LoadedModel("", Network.of(model, family), None, ""))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_known_architecture_passes_in_every_dtype(dtype):
    for family in CONFIGS:
        for comparison in comparisons(lab_with(small_model(family, dtype), None)):
            assert comparison.error < comparison.allowed / 3, f"{family}: {comparison}"


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", [*TRAINED, *COMPILED])
def test_every_built_in_model_loads_in_every_dtype(name, dtype):
    """Also the compiled one, whose steep gates make more of rounding than ordinary weights do."""
    assert load(name, "cpu", dtype).network.family.name == "llama"


WRONG = [
    ("qwen2", replace(LLAMA, before_mlp="input_layernorm"), "neurons(0)"),
    ("qwen2", replace(LLAMA, before_attention=""), "head(0)"),
    ("qwen2", replace(LLAMA, after_mlp="post_attention_layernorm"), "resid(0)"),
    ("qwen2", replace(LLAMA, gate_projection="up_proj", up_projection="gate_proj"), "the up-rows of neurons(0)"),
    ("qwen2", UNGATED, "what neurons(0) read"),
    ("qwen2", replace(LLAMA, final_norm="layers.0.input_layernorm"), "the un-edited run"),
    ("gpt_neox", replace(FAMILIES["gpt_neox"], parallel=False), "neurons(0)"),
    ("granite", replace(GRANITE, residual_multiplier=""), "neurons(0)"),
    ("granite", replace(GRANITE, embedding_multiplier=""), "resid(-1)"),
    ("granite", replace(GRANITE, logit_divisor=""), "the un-edited run"),
    ("cohere", replace(COHERE, parallel=False), "neurons(0)"),
    ("cohere", replace(COHERE, logit_multiplier=""), "the un-edited run"),
    ("gemma2", replace(GEMMA, softcap=""), "the un-edited run"),
    ("olmo2", replace(OLMO2, after_attention="post_feedforward_layernorm"), "neurons(0)"),
    ("phi3", replace(PHI3, gate_projection=""), "what neurons(0) read"),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("kind", "row", "where"), WRONG)
def test_a_wrong_row_is_caught_in_every_dtype_at_the_site_that_differs(kind, row, where, dtype):
    found = self_check(lab_with(small_model(kind, dtype), row))
    assert not found.holds
    assert found.what == where


def test_a_layer_that_does_something_of_its_own_is_named():
    model = small_model("qwen2", torch.float32)
    model.model.layers[1].register_forward_hook(lambda _, __, out: out + 0.01)
    with pytest.raises(
        NumberlineError, match=r"row 'llama' .* says \(resid\(1\) differs from the model's own .*refused"
    ):
        wrap(model, None)


def test_heads_split_wrongly_are_caught(monkeypatch):
    lab = lab_with(small_model("qwen2", torch.float32), None)
    plain = Block.out_matrix.fget
    monkeypatch.setattr(Block, "out_matrix", property(lambda self: plain(self).T))
    assert self_check(lab).what == "the sum of the heads of layer 0"


def test_weights_that_are_no_numbers_are_refused():
    model = small_model("qwen2", torch.float32)
    model.model.layers[1].mlp.up_proj.weight.data[3, 4] = float("nan")
    with pytest.raises(NumberlineError, match="logits are not finite in float32"):
        wrap(model, None)


@pytest.mark.parametrize("kind", ["qwen2", "helium"])
def test_memory_that_runs_out_during_the_check_is_not_called_a_wrong_row(kind):
    """As torch says it on a CPU: a module of the model wants more than any machine has."""
    model = small_model(kind, torch.float32)
    model.model.layers[1].mlp.register_forward_hook(lambda *_: torch.empty(2**50))
    with pytest.raises(NumberlineError, match="memory ran out while 'large' was checked"):
        wrap(model, None, "large")


@pytest.mark.parametrize("family", UNKNOWN)
def test_an_unknown_architecture_is_proven_and_then_exact(family, caplog):
    """Accepted with a message that names the row, and equal to the oracle at every kind of site."""
    with caplog.at_level(logging.WARNING, logger="numberline"):
        found: Bench = bench(family)
    row, kind = UNKNOWN[family][0], family.split("-")[0]
    assert kind not in FAMILIES
    assert found.lab.network.family.name == row
    assert (
        f"'{kind}' has no row of its own: the layout '{row}' was tried on this very model and is proven" in caplog.text
    )
    read = Read(logits=torch.arange(306).repeat(4, 1))
    sites = [resid(-1), resid(1), attn(1), head(1, 2), neurons(1), mlp(1)] + (
        [] if found.lab.network.parallel else [mid(1)]
    )
    for site in sites:
        vector = torch.linspace(-2, 2, 48 if site.kind.name == "neurons" else 32, dtype=torch.float64)
        got = found.lab.run(found.corrupted, [add(site.at("y1"), vector)], read).logits
        edit = OracleEdit(site.kind.name, site.layer, [29], lambda x, vector=vector: x + vector, site.index)
        with torch.no_grad():
            want = found.oracle.logits(found.corrupted.prompts.ids, [edit])
        assert found.moved(want, found.found["corrupted"]["logits"]), site
        assert found.close(got, want), site


def test_a_known_architecture_needs_no_message(caplog):
    wrap(small_model("qwen2", torch.float32), None)
    assert caplog.text == ""


REFUSED = {
    "mamba": {"hidden_size": 32, "num_hidden_layers": 2},
    "mixtral": {**SMALL, "num_key_value_heads": 2, "num_local_experts": 2},
    "gpt_oss": {**SMALL, "num_key_value_heads": 2, "num_local_experts": 2, "num_experts_per_tok": 1},
    "bitnet": {**SMALL, "num_key_value_heads": 2},
    "diffllama": {**SMALL, "num_key_value_heads": 2},
    "bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_no_row_describes_is_refused_with_what_was_tried(kind):
    config = AutoConfig.for_model(kind, vocab_size=306, pad_token_id=0, **REFUSED[kind])
    with pytest.raises(
        NumberlineError, match=f"'{kind}' is not supported: none of the known layouts is proven"
    ) as found:
        wrap(AutoModelForCausalLM.from_config(config), None)
    assert all(row.name in str(found.value) for row in ROWS)
    assert "\n" not in str(found.value)


def test_an_encoder_with_a_decoder_is_refused():
    config = AutoConfig.for_model("t5", d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=306)
    with pytest.raises(NumberlineError, match="'t5' does not run on plain tokens"):
        wrap(AutoModelForSeq2SeqLM.from_config(config), None)


def test_the_language_model_inside_one_that_also_sees_is_found():
    text = {**CONFIGS["gemma3_text"], "vocab_size": 306}
    vision = {**SMALL, "hidden_size": 16, "image_size": 28, "patch_size": 14, "num_hidden_layers": 1}
    config = AutoConfig.for_model("gemma3", text_config=text, vision_config=vision, attn_implementation="eager")
    lab = wrap(AutoModelForCausalLM.from_config(config), None)
    assert (lab.network.n_layers, lab.network.d_model) == (3, 32)


def test_the_page_on_models_lists_every_row():
    page = (Path(__file__).parents[2] / "docs/models.md").read_text()
    rows = re.findall(r"^\| (\w+) \| ([\w, ]+) \|", page, re.MULTILINE)
    listed = {name: kinds.split(", ") for name, kinds in rows}
    assert list(listed) == [row.name for row in ROWS]
    assert {kind: name for name, kinds in listed.items() for kind in kinds} == {
        k: row.name for k, row in FAMILIES.items()
    }
