"""Where the numbers are, along which direction, and who moves them: on `planted`, with its truth, and on `tiny`."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from planted_space import SMALL, lab_and_truth, means, short_fits_of

from numberline import load
from numberline.engine.lab import Lab
from numberline.engine.subspace import Subspace
from numberline.experiments.common.experiment import Context, Result
from numberline.experiments.registry import select
from numberline.experiments.two import heads as k2_heads
from numberline.experiments.two import layers as k2_layers
from numberline.experiments.two import number as k2_number
from numberline.experiments.two import probes as k2_probes
from numberline.experiments.two import shortcut as k2_shortcut
from numberline.experiments.two import three_digit as k2_three_digit
from numberline.experiments.two import trace as k2_trace
from numberline.experiments.two import transport as k2_transport
from numberline.methods.probes import held_out

FEW = replace(SMALL, evaluation=25, fitting=16)
STEPS = 30  # of DAS: enough for tiny; on planted, only what does not hang on the fit is looked at
IDS = {
    experiment.id: experiment
    for experiment in (
        k2_trace.trace,
        k2_number.number,
        k2_heads.heads,
        k2_transport.transport,
        k2_layers.layers,
        k2_three_digit.three_digit,
        k2_shortcut.shortcut,
        k2_probes.probes,
    )
}


@cache
def tiny() -> Lab:
    return load("tiny")


short_fits = pytest.fixture(autouse=True, scope="module")(short_fits_of(STEPS))


@cache
def result(model: str, id: str, sizes=FEW) -> Result:
    """An experiment's result, with all that it needs."""
    lab = tiny() if model == "tiny" else lab_and_truth()[0]
    given = {"k2.number": true_directions} if model == "planted" and id != "k2.number" else {}
    needs = {need: given[need]() if need in given else result(model, need, sizes) for need in IDS[id].needs}
    said: list[tuple[int, int]] = []
    found = IDS[id](lab, Context(sizes, needs=needs, progress=lambda *told: said.append(told)))
    assert said, "progress is reported"
    assert said[-1][0] == said[-1][1], f"{id} ends at {said[-1]}"
    return found


def true_directions() -> Result:
    """What k2.number says of v2, from the truth."""
    return Result.of({}, n=1, subspaces={"v2": Subspace(lab_and_truth()[1].directions[2]["v2"][:, None])})


def role(model: str, id: str, name: str) -> tuple[int, ...]:
    found = result(model, id).role(name)
    assert found.found
    assert found.margin > found.noise
    return found.value


def test_the_trace_shows_the_planted_anatomy():
    truth = lab_and_truth()[1]
    assert role("planted", "k2.trace", "number_layer") == (truth.number_layer,)
    assert role("planted", "k2.trace", "readout_layer") == (truth.readout_layer,)
    rows = result("planted", "k2.trace").rows("trace")
    assert len(rows) == 2 * 8 * 8 * 3
    held = {
        (row["case"], row["layer"]): row["position"] for row in rows if row["metric"] == "iia" and row["mean"] > 0.5
    }
    expected = {("y1", layer): "y1" for layer in range(truth.number_layer + 1)}
    expected |= {("y1", layer): "y2" for layer in range(truth.number_layer + 1, truth.readout_layer)}
    expected |= {("y2", layer): "y2" for layer in range(truth.readout_layer)}
    expected |= {(case, truth.readout_layer): "last" for case in ("y1", "y2")}
    assert held == expected


def test_the_head_sweep_finds_exactly_the_transport_head():
    truth = lab_and_truth()[1]
    (place,) = truth.transport_heads["y1"]
    assert role("planted", "k2.heads", "transport_head") == place
    excess = {row["head"]: row["mean"] for row in result("planted", "k2.heads").rows("excess")}
    assert len(excess) == 8
    assert all(abs(mean) < 0.01 for number, mean in excess.items() if number != place[1])
    iia = means(result("planted", "k2.heads"), "heads", "condition", "head")
    assert iia["with v2", place[1]] == 1.0
    assert iia["v2", -1] == 0.0


def test_the_first_component_is_a_decoy_at_y1_and_the_line_at_y2():
    found, truth = result("planted", "k2.number"), lab_and_truth()[1]
    iia = means(found, "patches", "position", "condition", examples="evaluation")
    assert iia["y1", "full"] == 1.0
    assert iia["y1", "pc1"] <= 0.2
    assert iia["y1", "random"] <= 0.05
    assert iia["y2", "full"] == 1.0
    (choice,) = found.rows("v2")
    own = truth.directions[2]["u"].numpy()
    assert choice["method"] == "PCA"
    assert found.subspaces["v2"].provenance["method"] == "PCA, component 1"
    assert found.tensors["v2"] @ own > 0.95
    assert found.tensors["u"] @ own > 0.2  # ten times chance, and signed
    assert abs(found.tensors["pcs_y1"][:, 0] @ own) < 0.3
    shares = [row["share"] for row in found.rows("variance") if row["position"] == "y1"]
    assert shares[:-1] == sorted(shares[:-1], reverse=True)
    first, again = found.rows("stability")
    assert first["cosine"] == pytest.approx(1.0)
    assert first["last_loss"] < first["first_loss"]
    assert again["seed"] != first["seed"]
    assert found.subspaces["u"].provenance["model"] == lab_and_truth()[0].loaded.fingerprint


@pytest.mark.parametrize("model", ["planted", "tiny"])
def test_the_number_rises_along_a_direction_of_a_curve(model):
    found = result(model, "k2.number")
    gain = {row["position"]: row for row in found.rows("curvature") if row["of"] == "gain"}
    assert set(gain) == {"y1", "y2"}
    assert 0.05 < gain["y1"]["lo"] < gain["y1"]["mean"] < gain["y1"]["hi"]
    rising = {(row["position"], row["direction"]): row for row in found.rows("monotone")}
    assert set(rising) == {("y1", "u"), ("y2", "v2"), *((y, f"pc{i}") for y in ("y1", "y2") for i in (1, 2, 3))}
    assert rising["y2", "v2"]["lo"] > 0.9
    assert rising["y2", "v2"]["n"] == len(found.tensors["values_y2"])


def test_probes_read_the_numbers_where_they_are_and_nowhere_before():
    found, truth = result("planted", "k2.probes"), lab_and_truth()[1]
    best = {(row["target"], row["layer"], row["position"]): row["mean"] for row in found.rows("probes")}
    assert best["log_y1", truth.number_layer, "y1"] > 0.95
    assert best["log_y2", truth.number_layer, "y2"] > 0.95
    assert best["log_y1", truth.number_layer + 1, "y2"] > 0.95  # transported
    assert best["y1>y2", truth.flag_layer, "y2"] > 0.95
    floor = {row["target"]: row["mean"] for row in found.rows("floors")}
    assert floor["log_y2"] < 0.3
    assert floor["y1>y2"] < 0.95
    blind = {row["position"] for row in found.rows("probes") if row["target"] == "log_y2" and row["knows"] == "nothing"}
    assert blind == {"y1.first", "y1", ""}
    held = held_out(40, 1, together=2)
    assert int(held.sum()) == 8
    assert torch.equal(held[0::2], held[1::2])


def test_tiny_holds_the_number_along_a_line():
    assert role("tiny", "k2.trace", "number_layer") == (1,)
    assert role("tiny", "k2.trace", "readout_layer") == (4,)
    found = result("tiny", "k2.number")
    iia = means(found, "patches", "position", "condition", "examples")
    for kind in ("evaluation", "fitting"):
        assert iia["y1", "u", kind] >= 0.9
        assert iia["y1", "random", kind] <= 0.1
        assert iia["y2", "v2", kind] >= 0.8
    components = {row["value"]: row["mean"] for row in found.rows("components") if row["direction"] == "u"}
    assert components[max(components)] > components[min(components)]
    (fit,) = (row for row in found.rows("log_fits") if row["direction"] == "u")
    assert fit["p"] > 0
    assert fit["r2"] > 0.8


def test_tiny_moves_the_number_with_a_head():
    assert role("tiny", "k2.heads", "transport_head")[0] == 2
    found = result("tiny", "k2.transport")
    iia = means(found, "patches", "condition", examples="evaluation")
    assert iia["v1"] >= 0.9
    assert iia["random"] <= 0.1
    share = {row["direction"]: row for row in found.rows("space")}
    assert share["v1"]["chance"] < share["v1"]["norm_inside"] < 1
    assert share["pc1"]["norm_inside"] == pytest.approx(1.0, abs=1e-4)
    assert sum(row["mean"] for row in found.rows("attention_all")) == pytest.approx(1.0, abs=1e-4)
    looked = [row["mean"] for row in found.rows("attention") if row["token"] == "y1"]
    assert min(looked) >= 0.0
    assert float(found.tensors["attention"].max()) <= 1.0


def test_earlier_layers_three_digits_and_the_shortcut():
    layers = result("tiny", "k2.layers")
    assert layers.tensors["u"].shape == (2, 128)
    assert np.array_equal(layers.tensors["u"][1], result("tiny", "k2.number").tensors["u"])
    assert {row["layer"] for row in layers.rows("patches")} == {0, 1}
    shortcut = result("tiny", "k2.shortcut")
    iia = means(shortcut, "patches", "condition", examples="evaluation")
    assert iia["das"] >= 0.8
    for row in shortcut.rows("outcome"):
        assert 0 <= row["value_r2"] <= row["both_r2"] <= 1
    three = result("tiny", "k2.three_digit")
    assert set(three.subspaces) == {"u_three_digit", "u_second_three_digit", "v2_three_digit"}
    values = {row["value"] for row in three.rows("components")}
    assert values <= set(range(112, 1000, 25))
    assert {row["position"]: row["token"] for row in three.rows("layout")} == {
        "y1.first": 28, "y1": 30, "y2.first": 33, "y2": 35, "last": 37,
    }  # fmt: skip


def test_a_direction_from_few_examples_is_scored_on_those_and_held_out(monkeypatch):
    monkeypatch.setattr(k2_number, "FEW", 3)
    found = result.__wrapped__("tiny", "k2.number")
    rows = [row for row in found.rows("patches") if row["condition"] == "u_16" and row["metric"] == "iia"]
    assert {row["examples"]: row["n"] for row in rows} == {"evaluation": FEW.evaluation, "fitting": 3}
    iia = means(found, "patches", "condition", "examples", case="y1")
    assert iia["u_16", "fitting"] == 1.0
    assert iia["u_16", "evaluation"] < iia["u", "evaluation"]


def test_needs_come_first():
    order = [experiment.id for experiment in select(("k2.transport",))]
    assert order.index("k2.trace") < order.index("k2.number") < order.index("k2.heads") < order.index("k2.transport")
