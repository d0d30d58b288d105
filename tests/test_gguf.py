"""A GGUF file is dequantised once, kept beside it by its digest, and is then a model like any other."""

import logging
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gguf_files import write_gguf
from numberline.engine.lab import Read
from numberline.engine.loading import load
from numberline.errors import NumberlineError
from numberline.models import gguf
from numberline.models.catalogue import BUILT_IN
from numberline.models.loading import read
from numberline.tasks import Task, encode


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("gguf")
    write_gguf(folder / "plain.gguf", BUILT_IN / "tiny")
    write_gguf(folder / "eight-bits.gguf", BUILT_IN / "tiny", quantised=True)
    return folder


def given(files: Path, name: str, folder: Path) -> str:
    return str(shutil.copy(files / name, folder))


def folders(path: Path) -> list[str]:
    return sorted(found.name for found in path.iterdir() if found.is_dir())


def kept_as(partial: Path) -> str:
    return partial.name.split(f".{platform.node()}")[0].lstrip(".")


def test_the_weights_and_the_tokens_are_those_that_were_written(files, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, logger="numberline"):
        model, tokenizer = read(given(files, "plain.gguf", tmp_path), "cpu")
    assert "plain.gguf is dequantised now, once" in caplog.text
    plain, plain_tokenizer = read("tiny", "cpu")
    assert all(torch.equal(found, plain.state_dict()[name]) for name, found in model.state_dict().items())
    text = "The maximum of 60 and 10 is 60. The maximum of 7 and 93 is "
    assert tokenizer(text)["input_ids"] == plain_tokenizer(text)["input_ids"]


def test_a_quantised_file_answers_as_its_model_does(files, tmp_path):
    """Through the whole engine: the self-check passes, and eight bits are enough to name the same numbers."""
    found, plain = load(given(files, "eight-bits.gguf", tmp_path), "cpu"), load("tiny", "cpu")
    task, operands = Task(), [(60, 10), (13, 95), (72, 44), (28, 31)]
    answers = [
        lab.run(lab.record(encode(lab.tokenizer, task, operands)), [], Read(argmax=True)).argmax
        for lab in (found, plain)
    ]
    assert torch.equal(*answers)
    assert found.loaded.fingerprint != plain.loaded.fingerprint


def test_the_second_load_dequantises_nothing_and_is_the_same_model(files, tmp_path, monkeypatch):
    path = given(files, "eight-bits.gguf", tmp_path)
    first = load(path, "cpu")
    monkeypatch.setattr(gguf, "_convert", lambda *_: pytest.fail("dequantised again"))
    assert load(path, "cpu").loaded.fingerprint == first.loaded.fingerprint
    assert load(str(tmp_path), "cpu").loaded.fingerprint == first.loaded.fingerprint  # the folder that holds it
    assert len(folders(tmp_path)) == 1


def test_another_file_of_the_same_name_is_another_model(files, tmp_path):
    path = given(files, "eight-bits.gguf", tmp_path)
    first = load(path, "cpu").loaded.fingerprint
    shutil.copy(files / "plain.gguf", path)
    assert load(path, "cpu").loaded.fingerprint != first
    assert len(folders(tmp_path)) == 2


KILLED = """
import os, sys
from numberline.models import gguf
plain = gguf._convert
def convert(file, folder):
    plain(file, folder)
    os.kill(os.getpid(), 9)
gguf._convert = convert
gguf.dequantised(__import__("pathlib").Path(sys.argv[1]))
"""


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_writes_is_not(files, tmp_path):
    path = given(files, "plain.gguf", tmp_path)
    assert subprocess.run([sys.executable, "-c", KILLED, path], check=False, capture_output=True).returncode == -9
    (left,) = folders(tmp_path)
    assert left.endswith(".partial")
    kept = kept_as(tmp_path / left)
    alive = tmp_path / f".{kept}.{platform.node()}.{os.getppid()}.partial"
    alive.mkdir()
    read(path, "cpu")
    assert folders(tmp_path) == sorted([alive.name, kept])


def test_the_process_that_comes_second_uses_what_the_first_made(files, tmp_path, monkeypatch):
    path, plain = Path(given(files, "plain.gguf", tmp_path)), gguf._convert

    def slowly(file: Path, folder: Path) -> None:
        plain(file, folder)
        shutil.copytree(folder, tmp_path / kept_as(folder))  # meanwhile, somebody else has made it

    monkeypatch.setattr(gguf, "_convert", slowly)
    kept = gguf.dequantised(path)
    assert folders(tmp_path) == [kept.name]


def test_a_place_that_may_not_be_written_to_is_a_sentence(files, tmp_path, monkeypatch):
    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = given(files, "plain.gguf", tmp_path)
    monkeypatch.setattr(Path, "mkdir", forbidden)  # root may write everywhere
    with pytest.raises(NumberlineError, match=r"cannot be kept beside it \(Permission denied\): copy it to a folder"):
        gguf.dequantised(Path(path))
    monkeypatch.undo()
    assert folders(tmp_path) == []
