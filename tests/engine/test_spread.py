"""A model that is spread over devices, or kept on disk in part, gives the numbers of one that is in one place."""

import pytest
import torch

import numberline as nl
from numberline.engine.lab import Lab
from numberline.methods import das
from numberline.models.placement import home, weight
from numberline.tasks import QUICK, Task, perturb, pool, record_pairs

AWAY = {"model.layers.1", "model.layers.3", "model.layers.4", "lm_head"}
PARTS = ["model.embed_tokens", "model.rotary_emb", *(f"model.layers.{i}" for i in range(6)), "model.norm", "lm_head"]


def measured(lab: Lab) -> list[torch.Tensor]:
    """Edits at every kind of place, a fit, and a continuation."""
    task = Task()
    pairs = record_pairs(lab, task, perturb(task, pool(task, sizes=QUICK).evaluation[:6], "y1"))
    places = [nl.resid(2).at("y1"), nl.mid(3).at("y2"), nl.head(4, 2).at("last"), nl.neurons(4).at("y2")]
    edits = [[nl.swap(place, pairs.clean)] for place in places]
    found = lab.sweep(pairs.corrupted, edits, nl.Read(logits=pairs.answers, argmax=True))
    (fit,) = das.fit(pairs, places[0], steps=3)
    assert found.logits is not None
    assert found.argmax is not None
    return [found.logits, found.argmax, fit.subspace.basis, lab.decode(pairs.corrupted, [[]], 2)]


@pytest.fixture(scope="module")
def plain() -> Lab:
    return nl.load("tiny", "cpu")


def test_a_model_of_which_a_half_is_on_disk_gives_the_same_numbers(plain):
    lab = nl.load("tiny", device_map={part: "disk" if part in AWAY else "cpu" for part in PARTS})
    away = [name for name, parameter in lab.network.model.named_parameters() if parameter.is_meta]
    assert {name.rsplit(".", 1)[0] for name in away} >= {"lm_head", "model.layers.4.mlp.down_proj"}
    assert {str(block.device) for block in lab.network.blocks} == {"cpu"}
    assert torch.equal(lab.network.blocks[4].down_matrix, plain.network.blocks[4].down_matrix)
    assert lab.loaded.fingerprint == plain.loaded.fingerprint
    for found, wanted in zip(measured(lab), measured(plain), strict=True):
        assert torch.equal(found, wanted)


def test_a_part_without_a_hook_is_where_its_weights_are(plain):
    assert home(plain.network.unembedding) == weight(plain.network.unembedding).device == torch.device("cpu")


def test_in_half_precision_logits_are_not_rounded_and_patches_do_the_same(plain):
    """The two answers' logits are a product in fp32: rounded to eight bits, small differences would be none."""
    half, task = nl.load("tiny", "cpu", "bfloat16"), Task()
    examples = perturb(task, pool(task, sizes=QUICK).evaluation[:24], "y1")
    recovered = []
    for lab in (plain, half):
        pairs = record_pairs(lab, task, examples)
        edits = [[nl.swap(nl.resid(layer).at("y1"), pairs.clean)] for layer in range(6)]
        logits = lab.sweep(pairs.corrupted, edits, nl.Read(logits=pairs.answers)).logits
        assert logits is not None
        assert logits.dtype == torch.float32
        recovered.append((logits[..., 0] > logits[..., 1]).float().mean(1))
    assert not torch.equal(logits, logits.bfloat16().float())
    assert (recovered[0] - recovered[1]).abs().max() < 0.2
    assert recovered[0].max() - recovered[0].min() > 0.5  # so that it says something
