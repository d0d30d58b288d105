"""The comparator neurons of the planted model: attribution, freezing, fields, edges, virtual weights, the flag."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from planted_space import CONTEXT, SMALL, lab_and_truth, means, true_space
from transformers import Qwen2Config, Qwen2ForCausalLM

from numberline.engine.edits import swap
from numberline.engine.lab import Lab
from numberline.engine.sites import mid
from numberline.experiments.common.comparing import random_sets
from numberline.experiments.common.experiment import Context, MissingError, Result
from numberline.experiments.two import connectivity as k2_connectivity
from numberline.experiments.two import fields as k2_fields
from numberline.experiments.two import flag as k2_flag
from numberline.experiments.two import neurons as k2_neurons
from numberline.experiments.two.patches import case_pairs
from numberline.methods.attribution import activations, attribute, pin, ranking, shuffled
from numberline.methods.connectivity import alignment, virtual_weights
from numberline.methods.fields import active_share, comparator, comparison, reach
from numberline.methods.scores import score
from numberline.models.loaded import wrap
from numberline.results.roles import Role
from numberline.tasks import Task
from numberline.tasks.fields import operand_fields


def planted_places() -> set[tuple[int, int]]:
    truth = lab_and_truth()[1]
    return {*truth.first_stage, *truth.second_stage}


@pytest.fixture(scope="module")
def found() -> Result:
    lab, truth = lab_and_truth()
    return k2_neurons.measure(lab, CONTEXT, true_space(), truth.comparator_mlps)


def test_attribution_ranks_planted_neurons_first_and_no_decoy(found):
    truth = lab_and_truth()[1]
    rows = found.rows("scores")
    for case in ("y1", "y2"):
        top = sorted(rows, key=lambda row: row[f"rank_{case}"])[:10]
        places = [(row["layer"], row["neuron"]) for row in top]
        assert sum(place in planted_places() for place in places) >= 9
        assert not set(places) & set(truth.decoys.neurons)
    shared = k2_neurons.shared_places(found)
    assert {layer for layer, _ in shared} == set(truth.comparator_mlps)
    assert not set(shared) & set(truth.decoys.neurons)


def test_freezing_the_shared_neurons_undoes_the_patch_and_random_ones_do_not(found):
    for case in ("y1", "y2"):
        iia = means(found, "sets", "frozen", "draw", case=case)
        assert iia["none", -1] >= 0.99
        assert iia["shared", -1] <= 0.1
        assert iia["own", -1] <= 0.1
        curve = means(found, "freeze", "ranking", "draw", "k", case=case)
        assert curve["attribution", -1, 30] <= 0.1
        assert curve["attribution", -1, 512] <= 0.05
        assert min(curve["random", draw, 10] for draw in range(2)) >= 0.5
        assert {draw for frozen, draw in iia if frozen == "random"} == set(range(10))
        assert {k for _, _, k in curve} == {1, 3, 10, 30, 100, 300, 512}


def test_random_sets_hold_no_shared_neuron():
    lab, truth = lab_and_truth()
    shared = sorted(planted_places())[:20]
    sets = random_sets(lab, truth.comparator_mlps, shared, seed=1)
    assert len({tuple(places) for places in sets}) == 10
    for places in sets:
        assert len(set(places)) == len(shared)
        assert not set(places) & set(shared)
        assert {layer for layer, _ in places} <= set(truth.comparator_mlps)
    # Two draws are the first two of ten: other experiments use fewer.
    assert random_sets(lab, truth.comparator_mlps, shared, seed=1, draws=2) == sets[:2]


def test_freezing_the_planted_neurons_undoes_the_patch():
    lab, truth = lab_and_truth()
    plane, unused = true_space().patches["plane"], shuffled(lab.network.d_mlp, truth.comparator_mlps, seed=1)
    others = [place for place in unused if place not in planted_places()][: len(planted_places())]
    for case in ("y1", "y2"):
        examples = case_pairs(lab, CONTEXT, case)
        frozen = activations(examples.corrupted, truth.comparator_mlps, "y2")
        conditions = [[*plane(examples), *pin(frozen, sorted(places), "y2")] for places in (planted_places(), others)]
        scores = score(examples, conditions)
        assert scores.iia(0).mean <= 0.05
        assert scores.iia(1).mean >= 0.99


def test_attribution_is_the_effect_of_freezing_to_first_order():
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=306, hidden_size=32, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=24, initializer_range=0.3,
    )  # fmt: skip
    lab = Lab.of(wrap(Qwen2ForCausalLM(config).double(), lab_and_truth()[0].loaded.tokenizer, "random"))
    layers, examples, site = (1, 2), case_pairs(lab, CONTEXT, "y2", "fitting"), mid(1).at("y2")
    x, clean = examples.corrupted.value(site), examples.clean.value(site)
    # A patch so small that the model is linear in it. It belongs to all examples: one batch.
    patch = [swap(site, x + 1e-2 * (clean - x))]
    scores = attribute(examples, lambda part: patch, layers, "y2")
    frozen = activations(examples.corrupted, layers, "y2")
    top = ranking(scores, layers)[:10]
    conditions = [patch, *([*patch, *pin(frozen, [place], "y2")] for place in top)]
    effects = score(examples, conditions).pld.mean(1)
    predicted = torch.stack([scores[layers.index(layer), neuron] for layer, neuron in top])
    assert float(predicted.abs().min()) > 1e-6
    assert torch.allclose(effects[1:] - effects[0], predicted, rtol=0.1)


def test_receptive_fields_are_the_planted_ones():
    lab, truth = lab_and_truth()
    places = sorted(planted_places())
    fields = operand_fields(lab, Task(), places, SMALL.field_stride, "y2")
    rows = torch.tensor(fields.axis) - 10
    for number, place in enumerate(places):
        planted = truth.fields[place][rows][:, rows]
        if float(fields.peaks[number]) > 1e-3 and float(planted.std()) > 1e-6:
            pair = torch.stack([fields.values[number].flatten(), planted.flatten()])
            assert float(torch.corrcoef(pair)[0, 1]) >= 0.99, place
    assert float(fields.values.abs().max()) == pytest.approx(1.0)


def test_local_and_global_fields_have_different_numbers():
    axis = tuple(range(11, 100, 4))
    step = comparison(axis)
    assert comparator(step, axis) == pytest.approx((1.0, 1.0))
    assert comparator(-(step > 0).double(), axis)[1] == pytest.approx(-1.0)
    assert active_share(step) == pytest.approx(1 - 1 / len(axis))
    spot = torch.zeros_like(step)
    spot[3:5, 3:5] = 1.0
    assert active_share(spot) == pytest.approx(4 / len(axis) ** 2)
    assert comparator(spot, axis)[0] < 0.05
    assert comparator(torch.zeros_like(step), axis) == (0.0, 0.0)
    assert reach(step).mean == reach(7.0 - step).mean == reach((step > 0).double()).mean == 1.0
    values = torch.tensor(axis).double()
    assert reach(values[None, :] - values[:, None]).mean == pytest.approx(0.31, abs=0.02)
    local = step * ((values > 30) & (values < 60)).double()[:, None] * ((values > 30) & (values < 60)).double()
    assert 0.05 < reach(local).mean < 0.15
    assert reach(spot).mean == reach(values[None, :] + values[:, None]).mean == 0.0


def test_the_second_stage_compares_globally(found):
    lab, truth = lab_and_truth()
    groups = k2_fields.groups_of(found.rows("scores"))
    assert len(groups["y1"]) <= 6
    assert not set(groups["y1"]) & set(groups["shared"])
    result = k2_fields.measure(lab, CONTEXT, true_space(), groups)
    stage = {row["layer"]: row for row in result.rows("stages")}
    first, second = truth.comparator_mlps
    assert stage[second]["comparator"] > stage[first]["comparator"] + 0.2
    assert len(result.tensors["fields"]) == len(result.rows("fields")) == sum(map(len, groups.values()))
    gates = [row for row in result.rows("directions") if row["part"] == "gate" and row["layer"] == first]
    across = [row for row in gates if min(abs(row["v1"]), abs(row["v2_perp"])) > 1e-3]
    assert across
    assert all(row["v1"] * row["v2_perp"] < 0 for row in across)  # own − from_y1: a comparison


def test_the_first_stage_is_local_and_the_second_is_not():
    lab, truth = lab_and_truth()
    first, second = truth.comparator_mlps
    result = k2_fields.measure(lab, CONTEXT, true_space(), {"shared": sorted(planted_places())})
    judged = {(row["layer"], row["of"]): row for row in result.rows("judged")}
    assert judged[first, "locality"]["lo"] >= 0.5
    assert judged[first, "coverage"]["lo"] >= 0.75
    assert judged[second, "furthest"]["lo"] >= 0.75
    assert judged[second, "locality"]["hi"] < 0.5
    assert (second, judged[second, "furthest"]["neuron"]) in truth.second_stage
    rows = result.rows("comparisons")
    assert len(rows) == judged[first, "locality"]["neurons"] + judged[second, "locality"]["neurons"]
    assert all(row["first"] < row["last"] for row in rows if row["local"])


def test_edges_follow_the_planted_wiring():
    lab, truth = lab_and_truth()
    fields = {place: truth.fields[place] for place in sorted(planted_places())}
    live = [place for place, field in fields.items() if float(field.std()) > 1e-3]
    result = k2_connectivity.measure(lab, CONTEXT, live)
    edges, weights = result.tensors["edges"], result.tensors["weights"]
    assert edges.shape == (2, *weights.shape)
    assert float(np.nanmax(np.abs(edges))) > 0.5
    # A gate that reads what a first-stage neuron writes also reads two others: the cosine is 1/√3, and else 0.
    assert float(np.abs(weights).max()) == pytest.approx(3**-0.5, abs=0.01)
    assert {row["from_layer"] for row in result.rows("edges")} == {truth.comparator_mlps[0]}
    assert len(result.rows("edges")) == 2 * len(result.rows("weights")) == 2 * weights.size
    for case in ("y1", "y2"):
        driving = {row["of"]: row for row in result.rows("driving") if row["case"] == case}
        assert driving["share"]["lo"] > 0.9
        assert driving["chosen"]["mean"] > 10 * driving["random"]["mean"]
        assert driving["share"]["draws"] == 10
    again = virtual_weights(lab, live[:1], live[-1:])
    assert again.shape == (1, 1)
    with pytest.raises(MissingError, match="no two stages"):
        k2_connectivity.measure(lab, CONTEXT, list(truth.first_stage))


def test_one_direction_holds_the_flag():
    lab, truth = lab_and_truth()
    shared = [place for place in truth.second_stage if float(truth.fields[place].std()) > 1e-3]
    context = Context(replace(SMALL, fitting=32, choosing=16))
    first, flag_at = truth.comparator_mlps
    result = k2_flag.measure(lab, context, true_space(), shared, layers=(first, flag_at))
    (role,) = result.roles
    assert (role.found, role.value, role.chosen_on) == (True, (truth.flag_layer,), "choosing")
    (chosen,) = result.rows("flag")
    assert chosen["layer"] == truth.flag_layer
    # The fit in y2 is no flag after the first stage: its component follows the numbers.
    gains = {
        (row["layer"], row["fitted"]): row
        for row in result.rows("winner")
        if (row["of"], row["examples"]) == ("gain", "evaluation")
    }
    assert gains[first, "y2"]["hi"] < 0
    assert min(gains[flag_at, case]["lo"] for case in ("y1", "y2")) > 0
    assert {row["n"] for row in result.rows("layers_choosing")} == {16}
    assert {row["n"] for row in result.rows("layers")} == {50}
    iia = means(result, "patches", "case", "condition", examples="evaluation")
    for case in ("y1", "y2"):
        assert min(iia[case, "flag_y1"], iia[case, "flag_y2"], iia[case, "full"]) >= 0.95
        assert iia[case, "random"] <= 0.05
    assert min(row["mean"] for row in result.rows("separation")) >= 0.99
    assert {row["n"] for row in result.rows("separation")} == {SMALL.shared_cloud // 2}
    assert means(result, "frozen", "case", "condition")["y1", "plane"] >= 0.99
    assert set(result.subspaces) == {"flag_y1", "flag_y2"}
    assert len(result.rows("alignment")) == 2 * lab.network.d_mlp
    true = truth.directions[2]["flag"]
    rho = alignment(lab, truth.flag_layer, true[:, None])
    assert all(float(rho[neuron]) > 0.99 for _, neuron in shared)


def test_a_flag_is_fitted_from_the_runs_seed_at_the_users_layer_too():
    lab, truth = lab_and_truth()
    beyond = truth.flag_layer + 1
    sizes = replace(SMALL, evaluation=4, fitting=4, choosing=4, shared_cloud=40)
    context = Context(sizes, seed=1, roles={"flag_layer": (beyond,)})
    result = k2_flag.measure(lab, context, true_space(), [], layers=(truth.flag_layer,), steps=1)
    (role,) = result.roles
    assert (role.value, role.source) == ((beyond,), "the user")
    assert result.rows("flag")[0]["layer"] == beyond
    assert {direction.provenance["seed"] for direction in result.subspaces.values()} == {"1"}


def test_the_flag_is_sought_between_transport_and_read_out():
    lab, truth = lab_and_truth()
    found = Role("readout_layer", (truth.readout_layer,), 1.0, 1.0, 0.0, found=True)
    lost = replace(found, value=(0,), found=False)
    space = true_space()
    for role, end in ((found, truth.readout_layer), (lost, lab.network.n_layers)):
        context = replace(CONTEXT, needs={"k2.trace": Result.of({}, 0, roles=[role])})
        layers = k2_flag.candidate_layers(lab, context, space)
        assert layers == range(space.layer, min(space.layer + k2_flag.CANDIDATES, end))
