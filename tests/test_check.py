"""Before a run: what can the model do, in which prompt; and a run on what it solves, in the prompt that was chosen."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

import numberline as nl
from numberline.estimates import Estimate, wilson
from numberline.experiments.common.examples import counterfactuals
from numberline.experiments.common.experiment import Context, MissingError
from numberline.experiments.common.solved import on_solved, solved
from numberline.experiments.registry import EXPERIMENTS, select
from numberline.models.catalogue import BUILT_IN
from numberline.report.page import command, solved_words, write_page
from numberline.report.page import solved as said_of_solved
from numberline.report.view import RunView
from numberline.runs.identity import ModelChoice, folder_name
from numberline.runs.settings import Settings
from numberline.tasks import QUICK, Task
from numberline.tasks.ability import Ability, best

FEW = replace(QUICK, evaluation=25, fitting=8, choosing=8)


@pytest.fixture(scope="module")
def without_nine(tmp_path_factory) -> str:
    """`tiny`, unable to say a 9: it is wrong whenever the answer begins with one."""
    folder = tmp_path_factory.mktemp("models") / "nine"
    shutil.copytree(BUILT_IN / "tiny", folder)
    weights = load_file(folder / "model.safetensors")
    tokenizer = nl.load("tiny").tokenizer
    weights["lm_head.weight"][tokenizer.convert_tokens_to_ids("9")] = 0
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return str(folder)


def test_a_model_that_does_the_task(call):
    code, out, err = call("check", "tiny")
    assert (code, err) == (0, "")
    assert "qwen2, seen as llama: 6 layers" in out
    assert "every site of every layer is the model's own" in out
    assert "36 tokens a prompt, 2 tokens an operand, 9 first tokens of answers" in out
    assert "100.0 %   96.3 – 100.0" in out
    assert "few-shot" not in out
    assert out.endswith("tiny does the task: numberline run tiny\n")


def test_a_model_that_does_it_in_part_is_run_on_what_it_solves(call, without_nine):
    code, out, _ = call("check", without_nine)
    assert code == 0
    assert "does the task in part" in out
    assert out.endswith(f"numberline run {without_nine} --solved\n")
    assert "the tokenizer has no chat template" in out


def test_options_of_a_file_are_none_of_a_model(call):
    assert call("check", "tiny", "--k", "3")[0] == 2


def test_the_best_prompt_is_the_most_accurate_one():
    found = [Ability(name, share(right)) for name, right in (("paper", 3), ("few-shot", 9), ("chat", 9))]
    assert best([*found, Ability("no-space", None, "why")]).prompt == "few-shot"
    assert [Ability("paper", share(right, 100)).verdict for right in (99, 80, 55)] == ["can", "in part", "cannot"]
    assert Ability("paper", None).verdict == "cannot"


def share(right: int, n: int = 10) -> Estimate:
    return wilson([i < right for i in range(n)])


def test_only_solved_examples_are_used(without_nine):
    lab = nl.load(without_nine)
    context = Context(sizes=FEW, solved=True)
    plain = counterfactuals(replace(context, solved=False), Task(), "y1")
    assert any(example.a >= 90 for example in plain)
    result = solved(lab, context)
    (row,) = result.rows("solved")
    assert (row["n"], row["used"], row["filtered"]) == (4 * 41, 41, True)
    assert 41 < row["solved"] < row["n"]
    told = f"Of 164 examples of two numbers the model solves {row['solved']}; 41 of these were used, and no others."
    assert solved_words(row, "numbers") == told
    kept = counterfactuals(replace(context, needs={"behaviour.solved": result}), Task(), "y1")
    assert len(kept) == 25
    assert not any(example.a >= 90 or example.b >= 90 for example in kept)


def test_too_few_solved_examples_are_said():
    lab, context = nl.load("tiny"), Context(sizes=FEW, concept=nl.MIN, solved=True)
    needs = {"behaviour.solved": solved(lab, context)}
    with pytest.raises(MissingError, match=r"the model solves \d+ of 164 tuples in both cases; 41 are needed"):
        counterfactuals(replace(context, needs=needs), Task(nl.MIN), "y1")


def test_a_run_on_solved_examples_needs_to_know_them():
    chosen = select(["k2.heads"], on_solved(EXPERIMENTS))
    assert [each.id for each in chosen][:1] == ["behaviour.solved"]
    assert "behaviour.solved" not in [each.id for each in select(["k2.heads"])]
    with pytest.raises(nl.NumberlineError, match=r"mine\.csv are used as they are and cannot be filtered"):
        Settings(examples="mine.csv", solved=True)


def test_the_prompt_is_a_part_of_what_a_run_is(call):
    ask = ("run", "tiny", "--size", "quick", "--only", "behaviour.solved", "--prompt")
    assert call(*ask, "few-shot")[0] == 0
    folder = Path("runs/tiny-quick-few-shot")
    chosen = json.loads((folder / "run.json").read_text())["configuration"]
    assert (chosen["prompt"], chosen["solved"]) == ("few-shot", False)
    view = RunView(nl.open_run(folder))
    assert command(view) == "numberline run tiny --size quick --prompt few-shot"
    assert re.fullmatch(r"Of 164 examples of two numbers the model solves \d+\.", said_of_solved(view))
    assert said_of_solved(view) in write_page(folder).read_text()
    code, _, err = call(*ask, "paper", "--solved", "--out", str(folder))
    assert code == 2
    assert "prompt few-shot, and this one is" in err
    assert folder_name(ModelChoice("tiny"), Settings(prompt="chat", solved=True)) == Path("runs/tiny-chat-solved")
