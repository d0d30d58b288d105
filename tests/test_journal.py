"""What was computed before a process was stopped is taken from its files, bit for bit, and nothing else is."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor

import numberline as nl
from numberline.engine.lab import Lab
from numberline.methods import attribution, das, probes, trace
from numberline.runs import journal as journals
from numberline.runs.journal import KeptJournal

KEY = "0123456789abcdef"
TEXTS = [f"The maximum of {a} and 24 is " for a in (37, 62, 91)]
OTHERS = [f"The maximum of {a} and 24 is " for a in (52, 13, 45)]


@pytest.fixture(scope="module")
def bare() -> Lab:
    return nl.load("tiny")


@pytest.fixture(autouse=True)
def _everything_is_worth_a_file(monkeypatch):
    monkeypatch.setattr(journals, "RATE", float("inf"))


def journal(place: Path, said: list[str] | None = None, key: str = KEY) -> KeptJournal:
    return KeptJournal(place, key, (said if said is not None else []).append, every=0.0)


def with_journal(lab: Lab, kept: KeptJournal) -> Lab:
    return Lab(lab.loaded, lab.memory, kept)


def work(lab: Lab) -> Iterator[Tensor]:
    """Every kind of computation that a journal keeps."""
    places = ({"x": ["37", "62", "91"]}, {"x": ["52", "13", "45"]})
    pairs = nl.Pairs.of(lab, TEXTS, OTHERS, places, [("3", "5"), ("6", "1"), ("9", "4")])
    site = nl.resid(1).at("x")
    yield from trace.trace(pairs, layers=[1, 3]).scores.margin
    read = lab.sweep(pairs.corrupted, [[nl.swap(site, pairs.clean)], []], nl.Read(sites=[nl.mid(2).at("last")]))
    yield from read.at.values()
    (fit,) = das.fit(pairs, site, steps=4)
    yield from (fit.subspace.basis, fit.losses)
    yield attribution.attribute(pairs, lambda part: [nl.swap(site, part.clean)], [2, 3], "last")
    yield lab.decode(pairs.corrupted, [[nl.swap(site, pairs.clean)]], 2)
    yield from lab.activations(pairs.clean.prompts, [nl.resid(0).at("x"), nl.resid(4).at("last")])
    rows = probes.probe_everywhere(
        lab, pairs.clean.prompts, {"x": torch.tensor([37.0, 62, 91])}, torch.tensor([False, False, True])
    )
    yield torch.tensor([row["mean"] for row in rows])


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return [tensor.numpy().tobytes() for tensor in one] == [tensor.numpy().tobytes() for tensor in other]


def test_work_that_is_stopped_anywhere_goes_on_to_the_same_bits(bare, tmp_path, monkeypatch):
    expected = list(work(bare))
    whole = journal(tmp_path / "whole")
    assert same(list(work(with_journal(bare, whole))), expected)
    pieces = len(list((tmp_path / "whole").iterdir()))
    assert pieces > 40
    put, made = KeptJournal.put, []

    def counted(self, name, piece, seconds):
        made.append(name)
        put(self, name, piece, seconds)
        if len(made) % 7 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(KeptJournal, "put", counted)
    stops = 0
    while True:
        try:
            found = list(work(with_journal(bare, journal(tmp_path / "stopped"))))
            break
        except KeyboardInterrupt:
            stops += 1
    assert stops == pieces // 7
    assert len(made) == len(set(made)) == pieces, "no piece is made twice"
    assert same(found, expected)


def test_a_damaged_file_is_said_and_made_again(bare, tmp_path):
    expected = list(work(with_journal(bare, journal(tmp_path / "work"))))
    files = sorted((tmp_path / "work").iterdir())
    files[0].write_bytes(files[0].read_bytes()[:-1])
    content = bytearray(files[-1].read_bytes())
    content[-1] ^= 1
    files[-1].write_bytes(content)
    (tmp_path / "work/.half.partial").write_bytes(b"half")
    said: list[str] = []
    kept = journal(tmp_path / "work", said)
    assert said == [f"{path} is damaged: what it held is computed again" for path in (files[0], files[-1])]
    assert same(list(work(with_journal(bare, kept))), expected)
    assert len(list((tmp_path / "work").iterdir())) == len(files)


def test_another_key_finds_nothing(bare, tmp_path):
    list(work(with_journal(bare, journal(tmp_path / "work"))))
    assert not journal(tmp_path / "work", key=KEY[::-1])._kept
    assert not list((tmp_path / "work").iterdir())


def test_a_fast_experiment_writes_nothing_and_what_is_fast_is_not_kept(bare, tmp_path, monkeypatch):
    slow = KeptJournal(tmp_path / "work", KEY, print)
    assert slow.every == 20
    list(work(with_journal(bare, slow)))
    assert not (tmp_path / "work").exists()
    monkeypatch.setattr(journals, "RATE", 0.0)
    kept = journal(tmp_path / "work")
    list(work(with_journal(bare, kept)))
    assert not (tmp_path / "work").exists()


def test_a_full_disk_is_said_once_and_the_work_goes_on(bare, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    said: list[str] = []
    kept = journal(tmp_path / "work", said)
    found = list(work(with_journal(bare, kept)))
    assert same(found, list(work(bare)))
    (sentence,) = said
    assert "No space left on device" in sentence
    assert not list((tmp_path / "work").iterdir())


def test_time_is_counted_over_processes(tmp_path):
    kept = journal(tmp_path / "run/work/demo")
    kept.begun -= 100
    kept.chapter("a").piece("b", lambda: {"x": torch.ones(2)})
    again = journal(tmp_path / "run/work/demo")
    assert 100 <= again.seconds < 101
    other = journal(tmp_path / "run/work/other")
    other.chapter("a").piece("b", lambda: {"x": torch.ones(2)})
    again.close()
    assert [path.name for path in (tmp_path / "run/work").iterdir()] == ["other"]
    other.close()
    assert not (tmp_path / "run/work").exists()
