"""Three numbers after they have met: neurons, fields, flags, flags set by hand, read-out, ablation; on `planted`."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from planted_space import SMALL, all_solved, lab_and_truth, means, three_space

from numberline.engine.sites import resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common import role_rules
from numberline.experiments.common.experiment import Context, MissingError, Result
from numberline.experiments.three import ablation as k3_ablation
from numberline.experiments.three import fields as k3_fields
from numberline.experiments.three import flags as k3_flags
from numberline.experiments.three import flags_beyond as k3_beyond
from numberline.experiments.three import neurons as k3_neurons
from numberline.experiments.three import readout as k3_readout
from numberline.experiments.three.flag_patterns import Flag, dealt, levels, pattern_tables, patterns, predicted, verdict
from numberline.methods.clouds import read
from numberline.methods.fields import comparator, comparison, marginals
from numberline.tasks import Task, encode
from numberline.tasks.answers import Answer
from numberline.tasks.counterfactuals import arrange, candidates
from numberline.tasks.fields import operand_fields
from numberline.tasks.populations import cloud, field_grid

FEW = replace(SMALL, evaluation=50, fitting=16, candidates=66, three_cloud=200, field_stride=18, operand_prompts=20)
THREE = Task(k=3)


# Neurons and fields


@pytest.fixture(scope="module")
def frozen() -> Result:
    lab, truth = lab_and_truth()
    planted = [*truth.first_stage, *truth.second_stage]
    return k3_neurons.measure(lab, all_solved(FEW), three_space(), truth.comparator_mlps, planted)


def test_freezing_the_planted_neurons_undoes_the_span_patch(frozen):
    truth = lab_and_truth()[1]
    for case in ("y1", "y3"):
        sets = means(frozen, "sets", "frozen", "draw", case=case, metric="pooled")
        assert sets["none", -1] > 0.5
        assert abs(sets["shared", -1]) < 0.1 * sets["none", -1]
        blocks = means(frozen, "blocks", "frozen", case=case, metric="pooled")
        assert blocks["none"] == pytest.approx(sets["none", -1], abs=1e-5)
        both = "mlp " + "+".join(map(str, truth.comparator_mlps))
        assert abs(blocks[both]) < 0.1 * blocks["none"]
    assert {row["of"] for row in frozen.rows("overlap")} == {len([*truth.first_stage, *truth.second_stage])}


def test_this_tasks_own_ranking_finds_planted_neurons_and_no_decoy(frozen):
    truth = lab_and_truth()[1]
    planted = {*truth.first_stage, *truth.second_stage}
    top = sorted(frozen.rows("scores"), key=lambda row: row["rank_y3"])[:10]
    places = [(row["layer"], row["neuron"]) for row in top]
    assert sum(place in planted for place in places) >= 8
    assert not set(places) & set(truth.decoys.neurons)
    own = k3_fields.own_places(frozen.rows("scores"), 2)
    assert [layer for layer, _ in own] == [layer for layer in truth.comparator_mlps for _ in range(2)]
    assert len(frozen.tensors["scores"]) == 3


def test_fields_over_three_numbers_are_those_of_a_recording():
    lab, truth = lab_and_truth()
    places = [*truth.first_stage[:3], *truth.second_stage[:2]]
    found = operand_fields(lab, THREE, places, 18, "y3")
    recording = lab.record(encode(lab.tokenizer, THREE, field_grid(THREE, 18)), keep=["neurons"])
    for number, (layer, neuron) in enumerate(places):
        raw = recording.question["neurons", layer][:, recording.prompts.positions["y3"] - recording.prompts.prefix]
        want = raw[:, neuron].reshape(found.values.shape[1:])
        assert torch.allclose(found.values[number], want / want.abs().max(), atol=1e-2)  # steep hinges, rounded
        assert float(want.std()) > 0
    assert found.values.dim() == 4


def test_a_position_does_not_depend_on_what_comes_later():
    lab, truth = lab_and_truth()
    places = truth.second_stage[:2]
    one, other = (operand_fields(lab, THREE, places, 18, "y2", {"y3": y3}).values for y3 in (55, 91))
    assert torch.allclose(one, other, atol=1e-5)
    result = k3_fields.measure(lab, Context(FEW), {"shared": places, "own": []})
    assert np.allclose(result.tensors["fields_y2"], one, atol=1e-5)
    side = len(result.tensors["axis"])
    assert result.tensors["marginals_y3"].shape == (2, 3, side, side)
    assert {row["position"] for row in result.rows("fields")} == {"y2", "y3"}


def test_marginals_average_the_third_number_and_have_their_own_peak():
    field = torch.randn(2, 4, 4, 4, generator=torch.Generator().manual_seed(0))
    found = marginals(field)
    assert found.shape == (2, 3, 4, 4)
    assert torch.allclose(found.abs().amax((2, 3)), torch.ones(2, 3))
    mean = field[1].mean(1)  # over y2: what is left is (y1, y3)
    assert torch.allclose(found[1, 1], mean / mean.abs().max())


def test_three_numbers_are_compared_with_the_best_before():
    axis = (10, 20, 30)
    step = comparison(axis, 3)
    assert step[0, 1, 2] == 1  # (10, 20, 30): y3 is the largest
    assert step[0, 2, 1] == -1
    assert step[2, 0, 2] == 0
    assert comparison(axis, 3, sign=-1)[1, 2, 0] == -1  # (20, 30, 10): below the smallest before
    assert comparator(step, axis)[0] == pytest.approx(1.0)
    assert torch.equal(comparison(axis), comparison(axis, 2))


# Flags


def test_both_positions_hold_a_flag():
    lab, truth = lab_and_truth()
    result = k3_flags.measure(lab, all_solved(FEW), truth.flag_layer)
    pooled = means(result, "patches", "position", "case", "condition", metric="pooled", examples="evaluation")
    assert pooled["y3", "y3", "flag_y3"] > 0.8 * pooled["y3", "y3", "full"] > 0.2
    assert pooled["y2", "decides", "flag_decides"] > 0.8 * pooled["y2", "decides", "full"] > 0.2
    assert max(abs(pooled[position, case, "random"]) for position, case, _ in pooled) < 0.1
    tells = {(row["position"], row["fitted"]): row["mean"] for row in result.rows("separation")}
    assert min(tells["y3", "y3"], tells["y2", "decides"]) >= 0.95
    for name in ("flag_y3_y3", "flag_y2_decides"):
        position = name.split("_")[1]
        assert abs(float(result.tensors[name] @ truth.directions[3][f"flag_{position}"].numpy())) > 0.5
    assert result.rows("verdict")[0]["verdict"] == "holds"
    assert set(result.subspaces) == {f"k3_{name}" for name in result.tensors}


def true_flags(lab, truth) -> dict[str, Flag]:
    """The planted flag at y2 and at y3, with its levels; y1's is borrowed."""
    operands = torch.tensor(cloud(THREE, 100))
    prompts, along = encode(lab.tokenizer, THREE, operands.tolist()), Subspace(truth.directions[3]["flag_y2"][:, None])
    sites = {position: resid(truth.flag_layer).at(position) for position in THREE.operands}
    states = dict(zip(sites, read(lab, prompts, list(sites.values())), strict=True))
    flags = {}
    for position in ("y2", "y3"):
        wins = k3_flags.largest_so_far(THREE, operands, position)
        flags[position] = Flag(sites[position], along, *levels(along.coordinates(states[position])[:, 0], wins))
    return flags | {"y1": k3_flags.borrowed(flags["y2"], sites["y1"], states["y1"])}


def test_the_planted_model_names_the_latest_flag_that_is_set():
    lab, truth = lab_and_truth()
    flags = true_flags(lab, truth)
    assert flags["y2"].unset_level < flags["y1"].set_level < flags["y2"].set_level  # y1, always flagged, is outbid
    tables = pattern_tables(lab, THREE, candidates(THREE, sizes=FEW)[:30], flags, seed=52)
    rows = [row for row in tables["patterns"] if row["winner"] == "all"]
    for row in rows:
        if row["direction"] == "flag" and row["predicted"] == row["named"]:
            assert row["mean"] >= 0.95, row
    assert len({(row["y1"], row["y2"], row["y3"]) for row in rows if row["direction"] == "flag"}) == 12
    rules = {row["rule"]: row["mean"] for row in tables["rules"]}
    assert rules["latest"] >= 0.95 > rules["earliest"] > 0.3
    assert rules["largest"] < 0.6
    moved = [row for row in tables["patterns"] if row["direction"] != "flag" and row["winner"] == row["named"]]
    assert moved
    # Along random directions little changes; each has a tenth of its length along the flag, by chance.
    assert sum(row["mean"] for row in moved) / len(moved) >= 0.9
    assert min(row["mean"] for row in moved) >= 0.6
    assert tables["verdict"][0]["verdict"] == "holds"


def test_rules_and_verdict():
    listed = patterns(("y1", "y2", "y3"))
    assert len(listed) == 12
    assert predicted({"y1": "as is", "y2": "set", "y3": "set"}) == "y3"
    assert predicted({"y1": "as is", "y2": "set", "y3": "set"}, "earliest") == "y2"
    assert predicted({"y1": "as is", "y2": "unset", "y3": "unset"}) == "y1"
    assert predicted({"y1": "unset", "y2": "unset", "y3": "unset"}) == ""
    assert predicted({"y1": "unset", "y2": "set", "y3": "unset"}, "largest", "y1") == "y1"

    def rows(lows):
        label = {"direction": "flag", "y1": "as is", "y2": "set", "y3": "set", "winner": "all"}
        return [{**label, "predicted": "y3", "named": "y3", "mean": lo + 0.1, "lo": lo} for lo in lows]

    assert verdict(rows([0.9, 0.8, 0.6]))["verdict"] == "holds"
    assert verdict(rows([0.9, 0.8, 0.4]))["verdict"] == "in part"
    found = verdict(rows([0.9, 0.3, 0.2]))
    assert (found["verdict"], found["right"], found["patterns"]) == ("fails", 1, 3)
    assert "y1 as is, y2 set, y3 set" in found["why"]


def test_prompts_are_dealt_to_all_orders_alike():
    rows = dealt(THREE, [(90, 60, 30, 10)] * 12)
    assert [sum(row.index(90) == place for row in rows) for place in range(3)] == [4, 4, 4]
    assert len(set(rows)) == 6


def test_in_a_decisive_order_only_that_flag_changes():
    for k in (3, 4, 5):
        task = Task(k=k)
        for position, order in k3_beyond.decisive(k).items():
            (example,) = arrange(task, candidates(task, sizes=FEW)[:1], order)
            assert example.case == position
            sides = [torch.tensor([side]) for side in (example.clean, example.corrupted)]
            for other in task.operands[1:]:
                before, after = (bool(k3_flags.largest_so_far(task, side, other)) for side in sides)
                assert (before != after) == (other == position)
                if int(other[1:]) > int(position[1:]):
                    assert not before


def test_flags_beyond_three_on_a_model_that_solves_three_only():
    lab, truth = lab_and_truth()
    flag = Subspace(truth.directions[3]["flag_y3"][:, None])
    result = k3_beyond.measure(lab, Context(FEW), truth.flag_layer, flag, counts=(3, 5))
    used = {row["k"]: row["used"] for row in result.rows("solved")}
    assert used == {3: True, 5: False}
    assert {(row["k"], row["position"]): row["found"] for row in result.rows("verdict")} == {
        (3, "y2"): True,
        (3, "y3"): True,
    }
    iia = means(result, "patches", "position", "condition", examples="evaluation")
    assert min(iia[position, name] for position in ("y2", "y3") for name in ("flag", "flag_k3", "full")) >= 0.9
    with pytest.raises(MissingError, match="too few"):
        k3_beyond.measure(lab, Context(FEW), truth.flag_layer, flag, counts=(5,), steps=1)


# Read-out and ablation


def test_two_components_hold_the_position_at_the_last_token():
    lab, truth = lab_and_truth()
    result = k3_readout.readout(lab, all_solved(FEW))
    found = {role.name: role.value for role in result.roles}
    assert found == {"readout_layer_k3": (truth.readout_layer,), "readout_head": tuple(truth.readout_head)}
    pooled = means(result, "patches", "order", "condition", metric="pooled")
    for order in ("y1>y2>y3", "y1>y3>y2", "y2>y3>y1"):
        assert pooled[order, "pcs"] > 0.9 * pooled[order, "full"] > 0.3
        assert abs(pooled[order, "random"]) < 0.1
    overlap = np.linalg.svd(result.tensors["pcs"].T @ truth.answer_subspace.numpy(), compute_uv=False)
    assert float(overlap.min()) > 0.95
    learned = means(result, "learned", "order", metric="pooled", examples="evaluation")
    assert all(learned[order] > 0.8 * pooled[order, "full"] for order in learned)
    told = {row["layer"]: row["mean"] for row in result.rows("pca")}
    assert told[truth.readout_layer] >= 0.95
    assert told[truth.readout_layer - 1] < 0.7
    most = {
        winner: max((row for row in result.rows("attention") if row["winner"] == winner), key=lambda row: row["mean"])
        for winner in ("y1", "y2", "y3")
    }
    assert {winner: row["position"] for winner, row in most.items()} == {"y1": "y1", "y2": "y2", "y3": "y3"}


def test_the_read_out_rises_most_where_it_is_said_to():
    rows = [
        {"order": order, "layer": layer, "metric": "pooled", "mean": mean, "lo": mean - 0.01, "hi": mean + 0.01}
        for order in ("y1>y2>y3", "y2>y3>y1")
        for layer, mean in enumerate((0.0, 0.09, 0.55, 0.8))
    ]
    role = role_rules.readout_layer_k3(rows)
    assert (role.name, role.value, role.found) == ("readout_layer_k3", (2,), True)
    assert not role_rules.readout_layer_k3([{**row, "mean": 0.02, "lo": 0.01, "hi": 0.03} for row in rows]).found


def test_without_the_planted_comparators_the_model_fails():
    lab, truth = lab_and_truth()
    sizes = replace(FEW, operand_counts=(2, 3))
    places = [*truth.first_stage, *truth.second_stage]
    result = k3_ablation.measure(lab, Context(sizes), places, truth.comparator_mlps)
    for metric in ("leading", "integer"):
        right = means(result, "accuracy", "k", "condition", metric=metric)
        for k in (2, 3):
            assert right[k, "intact"] == 1.0
            assert right[k, "random"] > right[k, "every token"]  # one in seven is drawn, and a hinge has a partner
            assert right[k, "every token"] <= 0.8
            assert right[k, "last token"] <= 0.8
    pooled = [row for row in result.rows("accuracy") if row["condition"] == "random"]
    assert {row["n"] for row in pooled} == {2 * sizes.operand_prompts}
    with pytest.raises(MissingError, match="no shared neurons"):
        k3_ablation.measure(lab, Context(sizes), [], truth.comparator_mlps)


def test_an_answer_is_right_by_its_leading_characters_or_by_its_integer():
    task = Task()
    said = {"60.": (True, True), "602": (True, False), " 60,": (True, True), "10.": (False, False), "": (False, False)}
    for text, (leading, integer) in said.items():
        digits = "".join(character for character in text if character.isdigit())
        answer = Answer(text, int(digits) if digits else None)
        assert k3_ablation.is_right(answer, task, (60, 10), "leading") == leading
        assert k3_ablation.is_right(answer, task, (60, 10), "integer") == integer
