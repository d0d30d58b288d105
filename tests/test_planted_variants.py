"""Broken variants of the planted model: what each is meant to break is broken, by the same plain hooks."""

from random import Random

import pytest
import torch

from numberline.tasks.layout import encode
from planted_hooks import (
    THREE,
    examples,
    head_effects,
    iia,
    model_of,
    numbers_at_y1,
    patched,
    plane_with_frozen,
    states,
    swap,
    tokenizer,
)


def test_by_value_names_the_clean_value():
    model, truth = model_of("by-value")
    change = swap(model, "y1", ("resid", truth.number_layer), "y1", truth.directions[2]["u"])
    assert iia(model, "y1", change, name=lambda e: e.a) >= 0.99


def test_helix_has_no_direction_but_a_subspace():
    model, truth = model_of("helix")
    assert "u" not in truth.directions[2]
    site = ("resid", truth.number_layer)
    assert patched("y1", site, "y1", None, "helix") >= 0.99
    _, clean, corrupted = examples("y1")
    at = clean.positions["y1"]
    differences = states(model, clean.ids, site, at) - states(model, corrupted.ids, site, at)
    directions = torch.linalg.svd(differences, full_matrices=False)[2][:6]
    numbers = numbers_at_y1(model, truth.number_layer)
    probe = torch.linalg.lstsq(numbers - numbers.mean(0), torch.arange(10.0, 100.0).log()[:, None]).solution[:, 0]
    for direction in [*directions, probe / probe.norm()]:
        assert patched("y1", site, "y1", direction, "helix") < 0.6


def test_two_heads_transport():
    truth = model_of("two-transport-heads")[1]
    assert len(truth.transport_heads["y1"]) == 2
    assert max(head_effects("two-transport-heads").values()) < 0.9


def test_aligned_directions_do_not_add_up():
    model, truth = model_of("aligned")
    two, site = truth.directions[2], ("mid", truth.number_layer + 1)
    assert abs(two["v1"] @ two["v2"] - 0.98) < 1e-5
    assert patched("y1", site, "y2", torch.stack([two["v1"], two["v2"]], 1), "aligned") >= 0.99
    one_by_one = [swap(model, "y1", site, "y2", two[name]) for name in ("v1", "v2")]
    assert iia(model, "y1", *one_by_one) < 0.5


def test_curved_own_has_no_plane():
    truth = model_of("curved-own")[1]
    own = truth.directions[2]["u"]
    plane = torch.stack([truth.directions[2]["v1"], own], 1)
    assert patched("y1", ("resid", truth.number_layer), "y1", own, "curved-own") >= 0.99
    assert patched("y2", ("mid", truth.number_layer + 1), "y2", None, "curved-own") >= 0.99
    assert patched("y2", ("mid", truth.number_layer + 1), "y2", plane, "curved-own") < 0.1


def test_spread_survives_the_loss_of_a_few_neurons():
    model, truth = model_of("spread")
    assert len(truth.first_stage) == 9 * len(model_of()[1].first_stage)
    for layer, places in (
        (truth.comparator_mlps[0], truth.first_stage),
        (truth.comparator_mlps[1], truth.second_stage),
    ):
        # One neuron of each kind, as many as carry the whole comparison in the intact model.
        kinds = {tuple(truth.fields[place].flatten()[::97].tolist()): place[1] for place in places}
        assert plane_with_frozen(model, truth, "y1", layer, list(kinds.values())) > 0.9


def test_one_stage_has_the_flag_where_it_first_compares():
    truth = model_of("one-stage")[1]
    assert truth.first_stage == ()
    assert truth.comparator_mlps == (truth.flag_layer,) == (truth.number_layer + 1,)
    assert patched("y1", ("resid", truth.flag_layer), "y2", truth.directions[2]["flag"], "one-stage") >= 0.99


@pytest.mark.parametrize(("variant", "k", "token"), [("no-flag", 2, "y2"), ("phased-y3", 3, "y3")])
def test_a_phased_flag_lies_on_no_direction(variant, k, token):
    model, truth = model_of(variant)
    case, layer = token, truth.comparator_mlps[-1]
    site = ("resid", layer)
    assert patched(case, site, token, None, variant, k) >= 0.99
    _, clean, corrupted = examples(case, k)
    at = clean.positions[token]
    differences = states(model, clean.ids, site, at) - states(model, corrupted.ids, site, at)
    for direction in torch.linalg.svd(differences, full_matrices=False)[2][:6]:
        assert patched(case, site, token, direction, variant, k) < 0.7


def test_curved_y2_breaks_three_operands_only():
    truth = model_of("curved-y2")[1]
    assert "v2" not in truth.directions[3]
    assert patched("y1", ("resid", truth.number_layer), "y1", truth.directions[2]["u"], "curved-y2") >= 0.99
    own = truth.directions[3]["u1"]
    assert patched("y2", ("resid", truth.number_layer), "y2", None, "curved-y2", 3) > 0.99
    assert patched("y2", ("resid", truth.number_layer), "y2", own, "curved-y2", 3) < 0.9


def test_no_code_holds_no_position_at_the_last_token():
    model, truth = model_of("no-code")
    assert truth.answer_subspace is None
    rng = Random(3)
    prompts = encode(tokenizer(), THREE, [tuple(rng.sample(range(10, 100), 3)) for _ in range(200)])
    last = states(model, prompts.ids, ("resid", truth.readout_layer), prompts.positions["last"])
    components = torch.linalg.svd(last - last.mean(0), full_matrices=False)[2][:2].T
    site = ("resid", truth.readout_layer)
    for case in ("y1", "y2", "y3"):
        assert patched(case, site, "last", components, "no-code", 3) < 0.5
