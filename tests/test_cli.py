"""The command line: what it prints, and that every failure is one sentence and exit code 2."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
import typer
from transformers import AutoTokenizer

import numberline
from numberline import cli
from numberline.experiments.common import behaviour
from numberline.experiments.registry import EXPERIMENTS
from numberline.models.catalogue import BUILT_IN
from numberline.models.planted import planted
from numberline.runs.settings import SIZES
from numberline.tasks import QUICK, Task, from_csv

FEW = replace(QUICK, pairs=60, three_digit_pairs=40, operand_prompts=10)
COMMANDS = [
    "models",
    "concepts",
    "sample",
    "check",
    "behaviour",
    "experiments",
    "run",
    "report",
    "claims",
    "compare",
    "show",
    "verify",
    "plan",
]


@pytest.fixture(autouse=True)
def few_examples(monkeypatch):
    monkeypatch.setitem(SIZES, "quick", FEW)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """A model in a local folder: the planted one."""
    path = tmp_path_factory.mktemp("models") / "mine"
    planted()[0].save_pretrained(path)
    AutoTokenizer.from_pretrained(BUILT_IN / "tiny").save_pretrained(path)
    return str(path)


def in_a_process(*arguments: str, code: str = "from numberline.cli import main; main()", **environment: str):
    variables = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_the_version(call):
    assert call("--version") == (0, f"numberline {numberline.__version__}\n", "")


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_help_lists_every_command(call, arguments):
    code, out, err = call(*arguments)
    assert (code, err) == (0, "")
    assert all(command in out for command in COMMANDS)
    assert set(typer.main.get_command(cli.app).commands) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(call, command):
    code, out, _ = call(command, "--help")
    assert code == 0
    assert f"Example: numberline {command}" in out


def test_help_does_not_load_torch():
    code = "import sys; from numberline import cli; sys.argv = ['numberline', '--help']\n"
    code += (
        "try: cli.main()\nexcept SystemExit: assert 'torch' not in sys.modules and 'transformers' not in sys.modules"
    )
    process = in_a_process(code=code)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "Usage" in out


def test_waiting_threads_are_passive_unless_the_user_says_otherwise(call, monkeypatch):
    for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.setenv(name, "")  # so that what the command sets is taken back
        monkeypatch.delenv(name)
    call("--version")
    assert (os.environ["OMP_WAIT_POLICY"], os.environ["GOMP_SPINCOUNT"]) == ("passive", "10000")
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    monkeypatch.delenv("GOMP_SPINCOUNT")
    call("--version")
    assert os.environ["OMP_WAIT_POLICY"] == "active"
    assert "GOMP_SPINCOUNT" not in os.environ


@pytest.mark.parametrize(
    ("task", "options"),
    [
        (Task(), ["--k", "2", "--case", "y1"]),
        (Task(), ["--case", "y2", "--seed", "7"]),
        (Task(k=3), ["--k", "3", "--case", "y3"]),
        (Task(digits=3), ["--digits", "3"]),
        (Task(numberline.MIN), ["--task", "min"]),
    ],
)
def test_sample_prints_valid_counterfactuals_and_the_same_twice(call, task, options):
    code, out, err = call("sample", "--n", "5", *options)
    assert (code, err) == (0, "")
    examples = from_csv(task, out)
    assert len(examples) == 5
    case = options[options.index("--case") + 1] if "--case" in options else "y1"
    assert {example.case for example in examples} == {case}
    assert call("sample", "--n", "5", *options) == (0, out, "")
    assert call("sample", "--n", "5", *options, "--seed", "9")[1] != out


def test_a_sample_written_to_a_file_can_be_checked(call, tmp_path):
    printed = call("sample", "--n", "4", "--case", "y2")[1]
    assert call("sample", "--n", "4", "--case", "y2", "--out", "mine.csv")[0] == 0
    assert (tmp_path / "mine.csv").read_text() == printed
    code, out, _ = call("check", "mine.csv")
    assert (code, out) == (0, "mine.csv holds 4 valid counterfactuals: 4 with y2 changed\n")


def test_models_are_listed_from_their_folders(call):
    code, out, err = call("models")
    assert (code, err) == (0, "")
    for name in ("tiny", "direct"):
        config = json.loads((BUILT_IN / name / "config.json").read_text())
        listed = next(line for line in out.splitlines() if line.startswith(name))
        assert f"{config['num_hidden_layers']} layers, width {config['hidden_size']}" in listed
        lab = numberline.load(name, device="cpu")
        tied = lab.network.model.config.tie_word_embeddings
        assert tied or f"{sum(p.numel() for p in lab.network.model.parameters()):,} parameters" in listed


def test_experiments_are_listed_with_their_questions(call):
    code, out, err = call("experiments")
    assert (code, err) == (0, "")
    listed = {line.split()[0]: line for line in out.splitlines()}
    assert set(listed) == set(EXPERIMENTS)
    assert all(line.endswith("?") for line in listed.values())


def test_behaviour_prints_accuracies(call, folder):
    code, out, _ = call("behaviour", folder, "--size", "quick", "--device", "cpu")
    assert code == 0
    rows = {line.split("  ")[0]: line.split() for line in out.splitlines() if "%" in line}
    assert rows["two-digit pairs"][-7:] == ["60", "60", "100.00", "%", "93.98", "–", "100.00"]
    assert {"two-digit triples", "three-digit pairs", "2 operands", "20 operands"} <= set(rows)


def test_a_run_writes_its_folder_and_goes_on(call, folder, tmp_path):
    options = ("run", folder, "--out", "out", "--size", "quick", "--only", "behaviour.operands", "--device", "cpu")
    code, out, err = call(*options)
    assert code == 0
    assert "The results are in out" in out
    assert "✓ behaviour.operands" in err
    about = json.loads((tmp_path / "out/run.json").read_text())
    assert about["configuration"]["model"] == folder
    assert list(about["experiments"]) == ["behaviour.operands"]
    assert (tmp_path / "out/results/behaviour.operands/accuracy.parquet").is_file()
    made = (tmp_path / "out/results/behaviour.operands/meta.json").stat().st_mtime_ns
    code, again, err = call(*options)
    assert code == 0
    assert "kept from before" in err
    assert "The results are in out" in again
    assert (tmp_path / "out/results/behaviour.operands/meta.json").stat().st_mtime_ns == made


def test_a_run_that_is_interrupted_says_what_is_kept(call, folder, tmp_path, monkeypatch):
    def control_c(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(behaviour, "all_pairs", control_c)  # the second experiment
    code, out, err = call(
        "run",
        folder,
        "--out",
        "out",
        "--only",
        "behaviour.operands",
        "--only",
        "behaviour.pairs",
        "--size",
        "quick",
        "--device",
        "cpu",
    )
    assert (code, out) == (130, "")
    assert "stopped with 1 experiments finished in out; the same command continues" in err
    assert "Traceback" not in err
    assert set(json.loads((tmp_path / "out/run.json").read_text())["experiments"]) == {"behaviour.operands"}


REFUSED = {
    "no such command": (["fly"], "No such command 'fly'"),
    "no such option": (["run", "--fast"], "No such option: --fast"),
    "a bad number": (["sample", "--n", "0"], "'--n'"),
    "a word for a number": (["sample", "--n", "many"], "'--n'"),
    "a missing argument": (["check"], "Missing argument"),
    "an unknown case": (["sample", "--case", "y9"], "no case 'y9'"),
    "an unknown task": (["sample", "--task", "mean"], "no task 'mean'"),
    "too many": (["sample", "--n", "100000000"], "only"),
    "a bad seed": (["sample", "--seed", "-1"], "a seed is"),
    "an unwritable file": (["sample", "--out", "no/such/file.csv"], "cannot be written"),
    "no such file": (["check", "none.csv"], "none.csv cannot be read"),
    "a bad row": (["check", "bad.csv"], "bad.csv, line 3"),
    "not text": (["check", "binary.csv"], "not UTF-8"),
    "an unknown model": (["run", "nobody/nothing"], "no model could be loaded from 'nobody/nothing'"),
    "an unknown dtype": (["behaviour", "--dtype", "int3"], "no dtype 'int3'"),
    "an unknown size": (["run", "--size", "huge"], "no size 'huge'"),
    "an unknown id": (["run", "--only", "k9.*"], "no experiment is called 'k9.*'"),
    "an unknown role": (["run", "--role", "king=1"], "no role 'king'"),
    "no run to draw": (["report", "runs-of-nobody"], "holds no run"),
    "no run to show": (["show", "runs-of-nobody", "k2.whole"], "holds no run"),
    "a file for a folder": (["run", "--out", "bad.csv"], "bad.csv is a file"),
    "a folder of something else": (["run", "--out", "."], "holds no run"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_one_sentence_and_exit_code_2(call, tmp_path, name):
    arguments, words = REFUSED[name]
    head = "clean_y1,clean_y2,corrupted_y1,corrupted_y2\n60,10,5,10\n"
    (tmp_path / "bad.csv").write_text(head.replace("60,10,5,10", "60,20,10,20\n60,20,60,20"))
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("numberline: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert not (tmp_path / "runs").exists()


def test_an_unwritable_folder_is_refused(call, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    code, out, err = call("run", "--out", "out")
    assert (code, out) == (2, "")
    assert "may not be written to" in err


def test_an_error_inside_numberline_is_a_sentence_with_its_traceback_in_a_file(call, monkeypatch, tmp_path):
    def fail() -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("numberline.models.catalogue.built_in_models", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, _, err = call("models")
    assert code == 1
    assert "an error inside numberline, ZeroDivisionError: division by zero; please report it" in err
    assert "Traceback" not in err
    (file,) = tmp_path.glob("numberline-*.txt")
    assert str(file) in err
    text = file.read_text()
    assert all(part in text for part in ("Traceback", "in fail", "ZeroDivisionError", "models", "Python 3."))


def test_a_reader_that_goes_away_is_no_error():
    process = in_a_process("sample", "--n", "2000")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("case,")
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.wait(timeout=60)


def test_the_package_can_be_run_as_a_module():
    process = in_a_process(code="import runpy, sys; sys.argv[1:] = ['--version']; runpy.run_module('numberline')")
    assert process.communicate(timeout=60)[0] == ""  # imported, not run
    command = [sys.executable, "-m", "numberline", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("numberline ")


def test_the_public_face_is_complete_and_loads_no_torch():
    process = in_a_process(code="import sys, numberline; numberline.__version__; sys.exit('torch' in sys.modules)")
    assert process.wait(timeout=60) == 0
    assert set(numberline._WHERE) | {"load", "open_run"} == set(numberline.__all__)
    assert all(hasattr(numberline, name) for name in numberline.__all__)
    assert not hasattr(numberline, "nothing")
