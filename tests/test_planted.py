"""The planted model does what its truth says, shown with plain forward passes and plain torch hooks."""

from itertools import product
from random import Random

import pytest
import torch
from torch import Tensor
from transformers import Qwen2ForCausalLM

from numberline.errors import NumberlineError
from numberline.models.planted import VARIANTS, planted
from numberline.models.planted.compile import REFERENCE
from numberline.tasks.counterfactuals import Counterfactual
from numberline.tasks.layout import encode
from numberline.tasks.task import Task
from planted_hooks import (
    THREE,
    TWO,
    examples,
    head_effects,
    iia,
    logits_after,
    model_of,
    numbers_at_y1,
    patched,
    plane_with_frozen,
    right,
    said,
    states,
    swap,
    tokenizer,
)

# Behaviour


def test_norms_are_measured_on_a_prompt_of_the_task():
    assert Task().prompt((31, 58)) == REFERENCE


def test_all_two_digit_pairs_are_right():
    pairs = [pair for pair in product(range(10, 100), repeat=2) if pair[0] != pair[1]]
    correct, margins = right(model_of()[0], TWO, pairs)
    assert len(pairs) == 8010
    assert correct.all()
    assert margins.min() > 0.5


def test_triples_are_right():
    rng = Random(0)
    correct, margins = right(model_of()[0], THREE, [rng.sample(range(10, 100), 3) for _ in range(600)])
    assert correct.all()
    assert margins.min() > 0.1


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_solve_the_task_unless_they_must_not(variant):
    rng = Random(1)
    pairs = [rng.sample(range(10, 100), 2) for _ in range(150)] + [(y, y + 1) for y in range(10, 99, 2)]
    two = right(model_of(variant)[0], TWO, pairs)[0].float().mean()
    three = right(model_of(variant)[0], THREE, [rng.sample(range(10, 100), 3) for _ in range(60)])[0].float().mean()
    if variant == "unsolving":
        assert max(two, three) < 0.8
    else:
        assert min(two, three) == 1


def test_the_same_seed_gives_the_same_model_and_another_seed_hides_it_elsewhere():
    (one, truth), (other, other_truth) = planted(0), model_of(seed=1)
    again = planted(0)[0].state_dict()
    assert all(torch.equal(tensor, again[name]) for name, tensor in one.state_dict().items())
    assert abs(truth.directions[2]["u"] @ other_truth.directions[2]["u"]) < 0.5
    assert truth.first_stage != other_truth.first_stage
    assert right(other, TWO, [(49, 50), (50, 49), (98, 99), (12, 11)])[0].all()


def test_refusals_name_what_exists():
    with pytest.raises(NumberlineError, match="helix"):
        planted(variant="spiral")
    with pytest.raises(NumberlineError, match="noise"):
        planted(noise=-1.0)


def test_no_planted_direction_lies_along_a_coordinate():
    truth = model_of()[1]
    for direction in [*truth.directions[3].values(), *truth.decoys.curve.T]:
        assert abs(direction.norm() - 1) < 1e-5
        assert direction.abs().max() < 0.5


def test_small_noise_is_survived_and_large_noise_is_not():
    rng = Random(2)
    far = [(a, b) for a, b in (rng.sample(range(10, 100), 2) for _ in range(300)) if abs(a - b) > 10]
    assert right(model_of(noise=0.0003)[0], TWO, far)[0].float().mean() > 0.98
    assert right(model_of(noise=0.3)[0], TWO, far)[0].float().mean() < 0.5


# The algorithm


def test_the_magnitude_lies_on_u_at_the_number_layer():
    model, truth = model_of()
    along = numbers_at_y1(model, truth.number_layer) @ truth.directions[2]["u"]
    torch.testing.assert_close(along, truth.magnitudes, atol=0.01, rtol=0)
    assert (along.diff() > 0).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_swapping_u_moves_the_position_and_not_the_value(seed):
    model, truth = model_of(seed=seed)
    change = swap(model, "y1", ("resid", truth.number_layer), "y1", truth.directions[2]["u"])
    assert iia(model, "y1", name=lambda e: e.b) == 1
    assert iia(model, "y1", change) >= 0.99
    assert iia(model, "y1", change, name=lambda e: e.a) == 0


def test_the_whole_number_r_is_named_after_a_swap_of_u():
    model, truth = model_of()
    drawn, _, corrupted = examples("y1")
    change = swap(model, "y1", ("resid", truth.number_layer), "y1", truth.directions[2]["u"])
    rest = torch.tensor([tokenizer()(f"{e.r}.")["input_ids"] for e in drawn])
    logits = logits_after(model, torch.cat([corrupted.ids, rest[:, :-1]], 1), change, keep=3)
    assert (logits.argmax(-1) == rest).all(1).float().mean() >= 0.99


def test_a_full_patch_of_y2_mixes_the_digits_as_in_the_paper():
    model, truth = model_of()
    drawn, _, corrupted = examples("y2")
    change = swap(model, "y2", ("resid", truth.number_layer), "y2", None)
    lead = torch.tensor([tokenizer()(str(e.r)[0])["input_ids"] for e in drawn])
    logits = logits_after(model, torch.cat([corrupted.ids, lead], 1), change, keep=2)
    expected = [[str(e.r)[0], str(e.a)[1]] for e in drawn]
    assert [said(row) for row in logits] == expected


def test_patches_work_where_the_truth_says_and_nowhere_else():
    _, truth = model_of()
    two, number, block = truth.directions[2], truth.number_layer, truth.number_layer + 1
    plane = torch.stack([two["v1"], two["v2"]], 1)
    assert patched("y1", ("resid", number), "y1", None) >= 0.99
    assert patched("y1", ("resid", block), "y1", None) == 0
    assert patched("y1", ("mid", block), "y2", two["v1"]) >= 0.99
    assert patched("y2", ("mid", block), "y2", two["v1"]) == 0
    assert patched("y2", ("resid", number), "y2", two["v2"]) >= 0.99
    for case in ("y1", "y2"):
        assert patched(case, ("mid", block), "y2", plane) >= 0.99
        assert patched(case, ("resid", truth.flag_layer), "y2", two["flag"]) >= 0.99
        assert patched(case, ("resid", truth.readout_layer), "last", None) > 0.99
        assert patched(case, ("resid", truth.readout_layer), "last", truth.answer_subspace) >= 0.99
        assert patched(case, ("resid", truth.readout_layer - 1), "last", None) == 0


def test_one_head_transports_and_shares_its_keys_with_a_decoy():
    model, truth = model_of()
    ((layer, transport),) = truth.transport_heads["y1"]
    assert layer == truth.number_layer + 1
    assert {head for head, effect in head_effects().items() if effect > 0.01} == {transport}
    assert head_effects()[transport] >= 0.99
    group = model.config.num_attention_heads // model.config.num_key_value_heads
    assert truth.decoys.heads["decoy_y1"][1] // group == transport // group


def test_freezing_the_planted_neurons_removes_the_effect_of_the_plane():
    model, truth = model_of()
    for case in ("y1", "y2"):
        # Without the local comparisons, the broad pair of the second stage still turns some answers.
        for layer, places, left in (
            (truth.comparator_mlps[0], truth.first_stage, 0.6),
            (truth.comparator_mlps[1], truth.second_stage, 0.05),
        ):
            assert plane_with_frozen(model, truth, case, layer, [i for _, i in places]) <= left
        decoys = [i for layer, i in truth.decoys.neurons if layer == truth.comparator_mlps[0]]
        assert plane_with_frozen(model, truth, case, truth.comparator_mlps[0], decoys) >= 0.99


def test_receptive_fields_are_the_planted_ones_local_then_global():
    model, truth = model_of()
    values = list(range(11, 100, 8))
    grid = [(a, b) for a in values for b in values]
    prompts = encode(tokenizer(), TWO, grid)
    rows = torch.tensor(grid) - 10
    larger = rows[:, 1] > rows[:, 0]
    for places in (truth.first_stage, truth.second_stage):
        layer = places[0][0]
        measured = states(model, prompts.ids, ("neurons", layer), prompts.positions["y2"])
        for place in places:
            expected = truth.fields[place][rows[:, 0], rows[:, 1]]
            if expected.std() < 1e-3 * expected.abs().max() or expected.abs().max() < 1e-2:
                continue  # silent or constant with two operands: it compares with y2, from y3
            correlation = torch.corrcoef(torch.stack([measured[:, place[1]], expected]))[0, 1]
            assert correlation > 0.99, place
    first = states(model, prompts.ids, ("neurons", truth.comparator_mlps[0]), prompts.positions["y2"])
    second = states(model, prompts.ids, ("neurons", truth.comparator_mlps[1]), prompts.positions["y2"])

    def reach(field: Tensor) -> float:
        """The share of the winning side on which a neuron is at half of its peak or more."""
        return float((field.abs() > field.abs().max() / 2)[larger].float().mean())

    local = [reach(first[:, i]) for (_, i) in truth.first_stage if truth.fields[(_, i)].std() > 0.1]
    wide = [reach(second[:, i]) for (_, i) in truth.second_stage if truth.fields[(_, i)].std() > 0.1]
    assert min(local) < 0.2
    assert max(wide) > 0.9


def test_three_operands_have_flags_and_a_plane_of_answers():
    model, truth = model_of()
    three = truth.directions[3]
    rng = Random(3)
    rows = [tuple(rng.sample(range(10, 100), 3)) for _ in range(200)]
    prompts = encode(tokenizer(), THREE, rows)
    for name, seen in (("y2", 2), ("y3", 3)):
        flag = states(model, prompts.ids, ("resid", truth.flag_layer), prompts.positions[name]) @ three[f"flag_{name}"]
        largest = torch.tensor([row[seen - 1] == max(row[:seen]) for row in rows])
        assert flag[largest].min() > flag[~largest].max() + 3
    last = states(model, prompts.ids, ("resid", truth.readout_layer), prompts.positions["last"])
    _, _, components = torch.linalg.svd(last - last.mean(0), full_matrices=False)
    overlap = components[:2] @ truth.answer_subspace
    assert torch.linalg.svdvals(overlap).min() > 0.95


@pytest.mark.parametrize(("case", "name"), [("y1", "v1"), ("y2", "v2"), ("y3", "v3")])
def test_three_operands_each_direction_carries_its_own_number(case, name):
    """At y3's token a swap changes α3 only; the algorithm then says which operand is named."""
    model, truth = model_of()
    three, layer = truth.directions[3], truth.number_layer + 1
    drawn, _, _ = examples(case, 3)
    change = swap(model, case, ("mid", layer), "y3", three[name], k=3)

    def named(e: Counterfactual) -> int:
        carried = dict(zip(("y1", "y2", "y3"), e.corrupted, strict=True)) | {case: e.a}
        y1, y2, y3 = e.corrupted
        return y3 if carried["y3"] == max(carried.values()) else max(y1, y2)

    assert iia(model, case, change, k=3, name=named) >= 0.99
    assert sum(named(e) != e.b for e in drawn) >= 0.99 * len(drawn)
    for other in {"y1", "y2", "y3"} - {case}:
        change = swap(model, other, ("mid", layer), "y3", three[name], k=3)
        assert iia(model, other, change, k=3, name=lambda e: e.b) >= 0.99


def test_three_operands_the_flag_of_y3_moves_the_answer():
    model, truth = model_of()
    change = swap(model, "y3", ("resid", truth.flag_layer), "y3", truth.directions[3]["flag_y3"], k=3)
    assert iia(model, "y3", change, k=3) >= 0.99
    for case in ("y1", "y2", "y3"):
        site = ("resid", truth.readout_layer)
        assert iia(model, case, swap(model, case, site, "last", truth.answer_subspace, k=3), k=3) >= 0.99


# Decoys


def test_the_curve_decodes_the_number_has_more_variance_and_does_nothing():
    model, truth = model_of()
    numbers = numbers_at_y1(model, truth.number_layer)
    curve = numbers @ truth.decoys.curve
    design = torch.cat([curve, torch.ones(len(curve), 1)], 1)
    target = torch.arange(10.0, 100.0).log()
    residual = target - design @ torch.linalg.lstsq(design, target[:, None]).solution[:, 0]
    assert 1 - residual.var() / target.var() > 0.99
    assert curve.var(0).max() > (numbers @ truth.directions[2]["u"]).var()
    for case, token in (("y1", "y1"), ("y2", "y2")):
        change = swap(model, case, ("resid", truth.number_layer), token, truth.decoys.curve)
        _, _, corrupted = examples(case)
        assert change[2].norm(dim=1).min() > 0.1
        assert (logits_after(model, corrupted.ids, change) - logits_after(model, corrupted.ids)).abs().max() < 1e-3


def test_nothing_reads_what_decoy_heads_and_neurons_write():
    model, truth = model_of()
    _, _, corrupted = examples("y1")
    plain = logits_after(model, corrupted.ids)
    change = swap(model, "y1", ("resid", truth.flag_layer), "y2", truth.decoys.junk)
    assert change[2].norm(dim=1).min() > 0.1
    # Not exactly nothing: what decoys write enters the norm.
    assert (logits_after(model, corrupted.ids, change) - plain).abs().max() < 0.01
    attention = eager_attention(model, corrupted.ids, truth.decoys.heads["decoy_y1"])
    assert attention[:, corrupted.positions["y2"], corrupted.positions["y1"]].min() > 0.99


@torch.no_grad()
def eager_attention(model: Qwen2ForCausalLM, ids: Tensor, head: tuple[int, int]) -> Tensor:
    model.set_attn_implementation("eager")
    attentions = model(ids, output_attentions=True).attentions
    model.set_attn_implementation("sdpa")
    return attentions[head[0]][:, head[1]]
