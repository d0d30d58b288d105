"""What a plan says is what a run does: operations against those that torch counts, roles, sentences, refusals."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import numberline
from numberline import cli
from numberline.engine.edits import freeze, swap
from numberline.engine.lab import Lab
from numberline.engine.sites import attn, mid, mlp, neurons, resid
from numberline.errors import NumberlineError
from numberline.experiments.registry import select
from numberline.methods.attribution import attribute
from numberline.methods.das import fit
from numberline.methods.heads import sweep_heads
from numberline.methods.scores import score
from numberline.methods.trace import trace
from numberline.results.formatting import duration
from numberline.runs.costs import Call, Shape, Work
from numberline.runs.plan import config_of, plan, rehearsing, roles_at
from numberline.runs.run import Settings
from numberline.runs.speed import ACCELERATORS
from numberline.tasks.counterfactuals import perturb, pool
from numberline.tasks.layout import encode
from numberline.tasks.pairs import record_pairs
from numberline.tasks.task import Task

QWEN = Path(__file__).parent / "configs" / "qwen2.5-7b-instruct.json"


def questions(lab: Lab) -> dict[str, Callable[[], object]]:
    """One of every kind that experiments ask."""
    task = Task()
    few = record_pairs(lab, task, perturb(task, pool(task).fitting[:12], "y1"))
    grid = encode(lab.tokenizer, task, [(x, y) for x in range(10, 18) for y in range(50, 56)])
    pinned = [swap(mid(3).at("y2"), few.clean)]
    return {
        "record": lambda: record_pairs(lab, task, few.examples),
        "trace": lambda: trace(few),
        "heads": lambda: sweep_heads(few, 3, "y2", [swap(resid(2).at("y2"), few.clean)], alone=True),
        "neurons": lambda: score(few, [[*pinned, freeze(mlp(4).at("y2"))], [*pinned, freeze(attn(4).at("y2"))]]),
        "fit": lambda: fit(few, resid(1).at("y1"), steps=3),
        "attribution": lambda: attribute(few, lambda part: [swap(mid(2).at("y2"), part.clean)], (2, 3), "y2"),
        "cloud": lambda: lab.activations(grid, [resid(3).at("y1"), neurons(4).at("y2")]),
        "decode": lambda: lab.decode(few.corrupted, [[], [swap(resid(2).at("y1"), few.clean)]], 3),
    }


def test_the_rehearsal_counts_the_products_that_the_engine_makes():
    lab, shape = numberline.load("tiny"), Shape.of(config_of("tiny")[0], torch.float32)
    rehearsal = rehearsing(shape, lab.tokenizer, Settings().concept, "tiny")
    rehearsal.work.append(Work(shape))
    for (name, real), made_up in zip(questions(lab).items(), questions(rehearsal).values(), strict=True):
        with FlopCounterMode(display=False) as counter:
            real()
        rehearsal.work.append(Work(shape))
        made_up()
        work = rehearsal.work[-1]
        assert work.operations == pytest.approx(counter.get_total_flops(), rel=0.05), name
        assert work.naive > work.operations, name
        assert work.peak > shape.weights, name


def test_the_largest_model_of_the_paper_on_one_accelerator():
    settings = Settings("quick")
    fits = plan(str(QWEN), settings, ["k2.trace"], gpu="a100-40gb")
    assert fits.shape.weights == pytest.approx(15.2e9, rel=0.01)
    assert fits.shape.weights < fits.peak < 40e9
    assert fits.too_large == []
    trace = fits.costs[-1]
    assert trace.naive > 10 * trace.operations
    assert 0 < trace.seconds < trace.naive_seconds
    double = plan(str(QWEN), settings, ["behaviour.operands"], gpu="t4-16gb", dtype="float32")
    assert "behaviour.operands" in double.too_large
    assert "the weights alone do not fit 16.0 GB" in cli.plan.verdict("it", double)
    assert "it fits" in cli.plan.verdict("it", fits)


def test_more_rows_take_longer_and_memory_is_cut_by_what_is_free():
    shape = Shape.of(config_of(str(QWEN))[0], torch.bfloat16)
    for accelerator in ACCELERATORS.values():
        calls = (Call("block", 1, 8), Call("block", 4096, 8), Call("block", 4096, 8, grad=True))
        few, many, back = (accelerator.seconds(call, shape) for call in calls)
        assert few < many < back
    small, large = (rehearsing(shape, None, Settings().concept, "it", free).memory for free in (20 * 10**9, 80 * 10**9))
    assert small.wave(8, 20) < large.wave(8, 20)
    assert small.graph(8, 20) < large.graph(8, 20)


def test_roles_lie_at_the_papers_fraction_of_the_depth():
    shape = Shape.of(config_of(str(QWEN))[0], torch.bfloat16)
    assert roles_at(shape)["transport_head"] == (14, 14)
    assert roles_at(shape)["comparator_mlps"] == (14, 15)
    shallow = roles_at(replace(shape, layers=6, heads=8))
    assert shallow["number_layer"] < shallow["transport_head"][:1] <= shallow["comparator_mlps"][:1]
    assert all(layer < 6 for name, value in shallow.items() for layer in (value[:1] if "_head" in name else value))


def test_the_command_prints_a_row_for_each_experiment(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["numberline", "plan", "tiny", "--size", "quick", "--only", "k2.trace"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert "k2.trace" in printed
    assert "it fits" in printed


def test_a_run_says_first_how_long_it_will_take(monkeypatch, capsys):
    asked = ("tiny", Settings("quick"), ["k2.heads"], None, "float32")
    assert cli.plan.announced(*asked) == {}, "it would take as long to say as to do"
    monkeypatch.setattr(cli.plan, "SMALL", 0)
    found = cli.plan.announced(*asked)
    assert list(found) == [experiment.id for experiment in select(["k2.heads"])]
    assert min(found.values()) > 0
    assert capsys.readouterr().out.startswith("It will take about ")
    assert cli.plan.announced("no/such-model", *asked[1:]) == {}, "the run itself will say what is wrong"


def test_what_is_not_known_is_refused():
    with pytest.raises(NumberlineError, match="no accelerator 'abacus' in the table: choose from a100-40gb"):
        plan("tiny", Settings("quick"), gpu="abacus")
    with pytest.raises(NumberlineError, match="no dtype 'float8'"):
        plan("tiny", Settings("quick"), dtype="float8")


def test_times_are_said_in_words():
    said = [duration(seconds) for seconds in (0.42, 45, 120, 12_000, 7200, 200_000)]
    assert said == ["0.4 s", "45 s", "2 min", "3 h 20 min", "2 h", "2 days 7 h"]
