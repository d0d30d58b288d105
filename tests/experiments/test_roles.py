"""The rules for roles, on hand-made evidence; values from the user and from the paper."""

from dataclasses import replace

import pytest
from planted_space import lab_and_truth

from numberline.engine.lab import Lab
from numberline.errors import NumberlineError
from numberline.experiments.common import role_rules, roles
from numberline.experiments.common.experiment import Context, Experiment, MissingError, Result
from numberline.results.roles import Role

TOKENS = {10: "y1.first", 11: "y1", 12: "", 13: "y2.first", 14: "y2", 15: "last"}


def trace(*levels: dict[str, float], noise: float = 0.05) -> list[dict]:
    """One dictionary per layer: recovery by position; what is not named recovers nothing. The same in both cases."""
    rows = []
    for case in ("y1", "y2"):
        for layer, level in enumerate(levels):
            for token, position in TOKENS.items():
                mean = level.get(position, 0.0)
                row = {"case": case, "layer": layer, "token": token, "position": position, "mean": mean}
                rows.append({**row, "metric": "pooled", "lo": mean - noise, "hi": mean + noise})
                rows.append({**row, "metric": "pr", "mean": -9.0, "lo": -9.0, "hi": -9.0})  # fragile, not to be used
    return rows


CLEAR = trace({"y1": 0.8}, {"y1": 0.75, "y2": 0.1}, {"y1": 0.17, "y2": 0.9}, {"y2": 0.6, "last": 0.3}, {"last": 1.0})


def spans(**means: float) -> list[dict]:
    return [
        {"layer": int(name[1:]), "mean": mean, "lo": mean - 0.02, "hi": mean + 0.02} for name, mean in means.items()
    ]


def test_the_number_layer_is_the_last_before_the_effect_leaves():
    role = role_rules.number_layer(CLEAR)
    assert (role.value, role.found, role.layer) == ((1,), True, 1)
    assert role.margin == pytest.approx(0.65)
    assert "0.75 after layer 1" in role.why
    assert "(y2) recovers 0.90" in role.why
    assert "weak" not in role.why


def test_a_small_margin_is_called_weak():
    role = role_rules.number_layer(trace({"y1": 0.8}, {"y1": 0.52, "y2": 0.5}, {"y2": 0.9}, {"last": 1.0}))
    assert role.value == (1,)
    assert role.why.startswith("weak")
    assert role.margin < role.noise


@pytest.mark.parametrize(
    ("levels", "why"),
    [
        (({"last": 1.0}, {"last": 1.0}), "never recovers more"),
        (({"y1": 0.04}, {"last": 1.0}), "never recovers more"),  # more than later tokens, yet no effect
        (({"y1": 0.9}, {"y1": 0.9}), "after the last layer"),
        # Seen on a real 0.5 B model: y1's effect stays at its first digit until the last token reads it.
        (({"y1.first": 1.0, "y1": 0.11}, {"y1.first": 0.9, "y1": 0.1}, {"last": 1.0}), "never recovers more"),
    ],
)
def test_a_number_layer_that_is_not_there(levels, why):
    role = role_rules.number_layer(trace(*levels))
    assert not role.found
    assert role.value == ()
    assert why in role.why


def test_the_readout_layer_is_the_steepest():
    role = role_rules.readout_layer(CLEAR)
    assert (role.value, role.score, role.margin) == ((4,), pytest.approx(0.7), pytest.approx(0.4))
    assert not role_rules.readout_layer(trace({"y1": 0.9}, {"y1": 0.9})).found
    assert role_rules.readout_layer(trace({"last": 0.9}, {"last": 1.0})).value == (0,)


def test_the_leading_head():
    heads = [{**row, "layer": 5, "head": row["layer"]} for row in spans(h0=0.05, h1=0.6, h2=0.3, h3=-0.1)]
    role = role_rules.leading_head("transport_head", heads)
    assert (role.value, role.layer, role.head) == ((5, 1), 5, 1)
    assert role.margin == pytest.approx(0.3)
    assert "head 2 adds 0.30" in role.why
    weak = [{**row, "mean": row["mean"] / 10, "lo": row["lo"] / 10, "hi": row["hi"] / 10} for row in heads]
    assert not role_rules.leading_head("transport_head", weak).found


def test_comparators():
    role = role_rules.comparator_mlps(spans(l3=0.6, l4=0.9, l5=0.1, l6=0.0))
    assert (role.value, role.margin) == ((3, 4), pytest.approx(0.5))
    assert not role_rules.comparator_mlps(spans(l3=0.02, l4=0.05)).found


def flag_evidence(*layers: tuple[float, float, float, float]) -> tuple[list[dict], list[dict]]:
    """From layer 3 on: the weaker-case IIA of the fit in y1 and in y2, then what the winner explains beyond numbers."""
    directions, gains = [], []
    for layer, (one, two, gain_one, gain_two) in enumerate(layers, start=3):
        for fitted, iia, gain in (("y1", one, gain_one), ("y2", two, gain_two)):
            own = {"layer": layer, "fitted": fitted}
            for case, mean in (("y1", 1.0), ("y2", iia)):
                directions.append({**own, "case": case, "mean": mean, "lo": mean - 0.02, "hi": mean + 0.02})
            gains.append({**own, "mean": gain, "lo": gain - 0.03, "hi": gain + 0.03})
    return directions, gains


def test_the_flag_is_where_either_fit_holds_the_winner():
    # Planted, seed 11: after the first stage the fit in y2 is y2's own number, which turns 0.92 of the answers.
    evidence = flag_evidence((1.0, 0.92, 0.13, -0.3), (0.98, 1.0, 0.16, 0.15), (1.0, 1.0, 0.16, 0.15))
    role = role_rules.flag_layer(*evidence)
    assert (role.value, role.margin) == ((4,), pytest.approx(0.15))
    assert "weak," not in role.why
    assert "3: 1.00, -0.30" in role.why
    chosen = role_rules.flag_fit(*evidence, role)
    assert (chosen["layer"], chosen["fitted"]) == (4, "y2")
    # Of two that do as much, the one that holds the winner more.
    assert role_rules.flag_fit(*evidence, replace(role, value=(5,)))["fitted"] == "y1"


def test_the_flag_is_on_the_plateau():
    role = role_rules.flag_layer(*flag_evidence((0.2, 0.3, 0.1, 0.1), (0.88, 0.3, 0.2, 0.2), (0.95, 0.96, 0.2, 0.2)))
    assert (role.value, role.margin) == ((4,), pytest.approx(0.2))
    near = role_rules.flag_layer(*flag_evidence((0.8, 0.8, -0.01, 0.2), (0.9, 0.9, 0.3, 0.2)))
    assert near.value == (4,)
    assert near.why.startswith("weak")


@pytest.mark.parametrize(
    ("layers", "why"),
    [
        ([(0.0, 0.0, 0.2, 0.2), (0.01, 0.01, 0.2, 0.2)], "no single direction works"),
        ([(1.0, 1.0, 0.2, -0.3), (1.0, 1.0, -0.1, -0.1)], "follows a number"),
        ([(1.0, 0.3, 0.2, -0.3), (0.02, 0.0, 0.2, 0.2)], "follows a number"),  # what holds the winner does nothing
    ],
)
def test_a_flag_that_is_not_there(layers, why):
    evidence = flag_evidence(*layers)
    role = role_rules.flag_layer(*evidence)
    assert not role.found
    assert why in role.why
    chosen = role_rules.flag_fit(*evidence, role)
    assert chosen["layer"] == (4 if why.startswith("no") else 3)
    assert why in chosen["why"]


def test_the_users_choice_stands_above_the_papers_and_the_runs(monkeypatch):
    lab, found = lab_and_truth()[0], role_rules.number_layer(CLEAR)
    chosen = Context(roles={"number_layer": (3,)})

    def settled(context: Context, role: Role = found) -> tuple:
        (settled,) = roles.settle(lab, context, role)
        return settled.value, settled.source, settled.found

    assert settled(Context()) == ((1,), "this run", True)
    assert settled(chosen) == ((3,), "the user", True)
    monkeypatch.setattr(roles, "is_papers", lambda lab: True)
    monkeypatch.setattr(roles, "SITES", {"number_layer": (5,)})
    assert settled(Context()) == ((5,), "the paper", True)
    assert settled(chosen) == ((3,), "the user", True)
    assert settled(chosen, replace(found, found=False, value=())) == ((3,), "the user", True)
    with pytest.raises(NumberlineError, match="layers 0 to 7"):
        settled(Context(roles={"number_layer": (40,)}))


def test_the_papers_model_is_known_by_name_and_shape():
    shape = (28, 3584, 28, 18944, 152064)
    assert roles.is_papers_shape("Qwen/Qwen2.5-7B-Instruct", shape)
    assert not roles.is_papers_shape("Qwen/Qwen2.5-7B", shape)
    assert not roles.is_papers_shape("mine/Qwen2.5-7B-Instruct-small", (24, 896, 14, 4864, 151936))


@pytest.mark.parametrize(
    ("text", "value"),
    [("number_layer=13", (13,)), ("transport_head=14.14", (14, 14)), ("comparator_mlps=14,15", (14, 15))],
)
def test_roles_on_the_command_line(text, value):
    assert roles.parse(text) == (text.split("=")[0], value)


@pytest.mark.parametrize("text", ["number=3", "number_layer", "number_layer=x", "number_layer=1.2", "readout_head=3"])
def test_roles_that_cannot_be_read(text):
    with pytest.raises(NumberlineError, match=r"did you mean|choose from|write a"):
        roles.parse(text)


def test_what_depends_on_a_role_that_was_not_found_is_missing():
    none = role_rules.number_layer(trace({"last": 1.0}, {"last": 1.0}))
    needs = {"k2.trace": Result.of({}, n=1, roles=[none])}
    with pytest.raises(MissingError, match="number_layer was not found"):
        roles.require(Context(needs=needs), "number_layer")

    def dependent(lab: Lab, context: Context) -> Result:
        """What?"""
        roles.require(context, "number_layer")
        raise AssertionError

    result = Experiment("demo.dependent", dependent)(lab_and_truth()[0], Context(needs=needs))
    assert "number_layer was not found" in result.missing
    with pytest.raises(MissingError, match=r"demo.dependent is missing: the role"):
        Context(needs={"demo.dependent": result}).need("demo.dependent")
    found = role_rules.number_layer(CLEAR)
    given = roles.require(Context(needs={"k2.trace": Result.of({}, n=1, roles=[found])}), "number_layer")
    assert given == found
    with pytest.raises(NumberlineError, match="among the needs"):
        roles.require(Context(), "number_layer")
