"""Each bad request of docs/bad-input.md's second table is answered with its sentence, before any result is made.

Here the model can be loaded; its tokenizer, its logits or its answers, what is asked, or the folder, is at fault.
"""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from safetensors.torch import load_file, save_file

import numberline as nl
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.library import BarWatcher
from numberline.models.catalogue import BUILT_IN
from numberline.results.folder import RunFolder
from numberline.runs.run import Run, Settings
from numberline.tasks.answers import answer
from test_bad_input import copy, listed, pattern

LISTED = listed("What is asked, and where it goes")
QUICK = ("--size", "quick")
NOBODY = 65534
HELD: list[FileLock] = []


@experiment("demo.nothing")
def nothing(lab: nl.Lab, context: Context) -> Result:
    """What is there?"""
    return Result.of({"nothing": [{"n": 0}]}, n=0)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A run of `tiny` in the size quick."""
    path = tmp_path_factory.mktemp("runs") / "made"
    Run(nl.load("tiny"), RunFolder(path), Settings("quick"), {nothing.id: nothing}).execute(["*"], BarWatcher(False))
    return path


def uneven(_: Path) -> list[str]:
    """A tokenizer that knows 33, and spells every other number digit by digit."""
    (model,) = copy()
    path = Path(model, "tokenizer.json")
    rules = json.loads(path.read_text())
    words = rules["model"]
    words["merges"] = [merge for merge in words["merges"] if "".join(merge) != "Ġminimum"]
    words["vocab"]["33"] = words["vocab"].pop("Ġminimum")
    rules["added_tokens"].append(
        {**rules["added_tokens"][0], "id": words["vocab"]["33"], "content": "33", "special": False}
    )
    path.write_text(json.dumps(rules))
    return ["run", model, *QUICK]


def no_numbers(_: Path) -> list[str]:
    """A model whose embedding of one digit is no number, which random tokens do not meet."""
    copy()
    weights = load_file(BUILT_IN / "tiny/model.safetensors")
    digit = nl.load("tiny").tokenizer.convert_tokens_to_ids("7")
    weights["model.embed_tokens.weight"][digit] = float("nan")
    save_file(weights, "model/model.safetensors", {"format": "pt"})
    return ["run", "model", *QUICK]


def empty_file(_: Path) -> list[str]:
    Path("mine.csv").write_text("clean_y1,clean_y2,corrupted_y1,corrupted_y2\n")
    return ["run", "tiny", "--examples", "mine.csv"]


def in_folder(made: Path, *arguments: str, **changes: object) -> list[str]:
    """A command about a run's folder, in which run.json was edited."""
    shutil.copytree(made, "run")
    path = Path("run/run.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return [*arguments]


def in_use(made: Path) -> list[str]:
    """A lock that is held for as long as its file is open."""
    in_folder(made)
    HELD.append(FileLock("run/.lock"))
    HELD[-1].acquire()
    return [*AGAIN]


def other_files(_: Path) -> list[str]:
    Path("run").mkdir()
    Path("run/thesis.tex").write_text("mine")
    return ["run", "tiny", "--out", "run"]


def a_file(_: Path) -> list[str]:
    Path("run").write_text("mine")
    return ["run", "tiny", "--out", "run"]


AGAIN = ("run", "tiny", *QUICK, "--out", "run")
CASES: dict[str, Callable[[Path], list[str]]] = {
    "a tokenizer that splits numbers unevenly": uneven,
    "logits that are not numbers": no_numbers,
    "a model that is always wrong": lambda _: ["check", "tiny", "--task", "min"],
    "an empty population": empty_file,
    "an unknown experiment": lambda _: ["run", "tiny", "--only", "k2.tracing"],
    "an unknown experiment that looks like none": lambda _: ["run", "tiny", "--only", "zebra"],
    "an unknown role": lambda _: ["run", "tiny", "--role", "nmber_layer=3"],
    "a role that the model does not have": lambda _: ["run", "tiny", "--role", "number_layer=77", "--only", "k2.trace"],
    "an unknown prompt": lambda _: ["run", "tiny", "--prompt", "fewshot"],
    "a chat without a template": lambda _: ["run", "tiny", "--prompt", "chat"],
    "an unknown task": lambda _: ["run", "tiny", "--task", "median"],
    "an unknown size": lambda _: ["run", "tiny", "--size", "huge"],
    "a folder of another model": lambda made: in_folder(made, "run", "direct", *QUICK, "--out", "run"),
    "a folder of another size": lambda made: in_folder(made, "run", "tiny", "--out", "run"),
    "a folder of another dtype": lambda made: in_folder(made, *AGAIN, "--dtype", "bfloat16"),
    "a folder of another version": lambda made: in_folder(made, *AGAIN, format=1),
    "a folder that was changed by hand": lambda made: in_folder(made, "claims", "run", sizes="many"),
    "a folder that another process works on": in_use,
    "a folder with other files": other_files,
    "a file in place of a folder": a_file,
    "a folder that holds no run": lambda _: ["report", "."],
    "a result that is not there": lambda made: in_folder(made, "show", "run", "k2.trace"),
    "a figure that there is not": lambda made: in_folder(made, "report", "run", "--only", "fig1"),
}


def test_the_page_lists_every_case():
    assert list(LISTED) == [*CASES, "a folder that may not be written to"]


@pytest.mark.parametrize("case", CASES)
def test_a_bad_request_is_answered_with_the_sentence_on_the_page(case, call, made):
    code, _, err = call(*CASES[case](made))
    while HELD:
        HELD.pop().release()
    assert re.fullmatch(pattern(LISTED[case]), err), err
    assert code == 2


@contextmanager
def without_rights() -> Iterator[Path]:
    """A folder that may be read and not written to, by whoever this process is for as long: root may do everything."""
    place = Path(tempfile.mkdtemp())
    (place / "locked").mkdir()
    for folder, mode in ((place, 0o755), (place / "locked", 0o555)):
        folder.chmod(mode)
    root = os.getuid() == 0
    try:
        if root:
            os.setresuid(NOBODY, NOBODY, 0)
        yield place / "locked"
    finally:
        if root:
            os.setresuid(0, 0, 0)
        shutil.rmtree(place)


def test_a_folder_that_may_not_be_written_to_is_said(call):
    call("run", "tiny", "--only", "nothing")  # everything that is imported is, for nobody may not read it
    with without_rights() as locked:
        code, _, err = call("run", "tiny", "--out", str(locked / "run"))
    assert re.fullmatch(pattern(LISTED["a folder that may not be written to"]), err), err
    assert code == 2


def test_answers_need_no_common_layout(tmp_path, monkeypatch):
    """Prompts that split unevenly are answered apart, each as if it were alone, in their order."""
    monkeypatch.chdir(tmp_path)
    uneven(tmp_path)
    lab, rows = nl.load("model"), [(33, 10), (10, 33), (44, 10), (33, 33), (60, 12)]
    together = answer(lab, nl.Task(), rows)
    assert list(together) == [each for row in rows for each in answer(lab, nl.Task(), [row])]
    with pytest.raises(nl.NumberlineError, match="has the token layout"):
        nl.encode(lab.tokenizer, nl.Task(), rows)
    assert nothing_but(nl.encode, lab, rows).missing.startswith("prompt 2")


def nothing_but(work: Callable[..., object], lab: nl.Lab, rows: list[tuple[int, ...]]) -> Result:
    """The result of an experiment that does only this."""

    @experiment("demo.work")
    def demo(lab: nl.Lab, context: Context) -> Result:
        work(lab.tokenizer, nl.Task(), rows)
        return Result.of({}, n=0)

    return demo(lab, Context())
