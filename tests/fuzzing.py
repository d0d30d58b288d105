"""What happens to a run's folder that was damaged or tampered with? A sentence or a right result, and nothing outside.

    python tests/fuzzing.py 1000        # make fuzz

1. A folder with made-up results of every schema, and two experiments' own, is changed in one to three places: files are
   cut off, emptied, removed, exchanged, have bytes flipped or are linked elsewhere; JSON has values replaced (by names
   with .., among others), keys removed or added; tables and tensors lose columns, rows, types, shapes. What is inside a
   table or a tensor is then sealed anew in half of the cases, as by somebody who knows of the digests.
2. The folder goes through `claims`, `compare`, `show`, `report` (of one label) and a run of the two experiments.
3. Each must end with exit code 0, or with 2 and one sentence. Whatever is beside the folder must stay as it was. A run
   that ends well must have the numbers of an undisturbed one; and where the damage is not sealed, `claims` that end
   well must say what they said before.
"""

import contextlib
import io
import json
import os
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent / "report"))

import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy
import torch
from synthetic import make_run
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from numberline import cli
from numberline.claims import FILE, write_claims
from numberline.engine.lab import Lab
from numberline.errors import NumberlineError
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.registry import index
from numberline.library import BarWatcher
from numberline.models.catalogue import BUILT_IN
from numberline.models.loaded import wrap
from numberline.results.folder import META, RUN, RunFolder
from numberline.results.storage import sha
from numberline.runs.run import Run, Settings

ODD: tuple[Any, ...] = (
    None, True, -1, 10**30, 1e308, float("nan"), "", "../../victim", "/etc/passwd", "a\x00b", "é" * 300, [], {}, [[]],
    {"..": "../victim"}, "k2.trace", "__proto__",
)  # fmt: skip
LABELS = ("app:setup-hparams", "app-trace-k2", "tab:accuracy")


@experiment("demo.first")
def first(lab: Lab, context: Context) -> Result:
    """What is first?"""
    return Result.of(
        {"scores": [{"case": "y1", "mean": 0.5}, {"case": "y2", "mean": 1.5}]}, 2, {"x": torch.arange(4.0)}
    )


@experiment("demo.second", needs=("demo.first",))
def second(lab: Lab, context: Context) -> Result:
    """What follows?"""
    total = sum(row["mean"] for row in context.need("demo.first").rows("scores"))
    return Result.of({"total": [{"total": total + float(context.tensor("demo.first", "x").sum())}]}, n=1)


DEMO = index(first, second)


def small_lab() -> Lab:
    torch.manual_seed(52)
    config = Qwen2Config(
        vocab_size=306, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=1,
        intermediate_size=16,
    )  # fmt: skip
    return Lab.of(wrap(Qwen2ForCausalLM(config), AutoTokenizer.from_pretrained(BUILT_IN / "tiny"), "small"))


def run_demo(lab: Lab, path: Path) -> float:
    """Run the two experiments there; what the second found."""
    folder = RunFolder(path)
    Run(lab, folder, Settings("quick"), DEMO).execute(["demo.*"], BarWatcher(False))
    (row,) = RunFolder(path).result("demo.second").rows("total")
    return float(row["total"])


@dataclass
class Bench:
    """An undisturbed folder, beside which other files are."""

    place: Path
    lab: Lab = field(default_factory=small_lab)

    def __post_init__(self) -> None:
        self.base = self.place / "base"
        make_run(self.base, model="small")
        run_demo(self.lab, self.base)
        about = json.loads((self.base / RUN).read_text())
        listed = {path.parent.name: json.loads(path.read_text()) for path in self.base.glob(f"results/*/{META}")}
        about["experiments"] = {
            id: {key: meta[key] for key in about["experiments"]["demo.first"]} for id, meta in listed.items()
        }
        (self.base / RUN).write_text(json.dumps(about))
        write_claims(self.base)
        self.ledger = (self.base / FILE).read_bytes()

    @contextlib.contextmanager
    def copy(self, number: int) -> Iterator[Path]:
        """A folder of its own for one case, with a victim beside the run."""
        place = self.place / f"case{number}"
        (place / "victim").mkdir(parents=True)
        (place / "victim" / "meta.json").write_text("mine")
        (place / "victim.safetensors").write_text("mine")
        shutil.copytree(self.base, place / "run")
        try:
            yield place / "run"
        finally:
            shutil.rmtree(place)


def mutate(run: Path, draw: random.Random) -> tuple[str, bool]:
    """Change one thing; what was done, and whether it was sealed (or is JSON, which has no seal)."""
    files = sorted(path for path in run.rglob("*") if path.is_file() and not path.name.startswith("."))
    file = draw.choice(files)
    kinds: list[Callable[[Path, random.Random], str]] = [truncate, flip, empty, remove, exchange, link]
    if file.suffix == ".json":
        return draw.choice([edit_json] * 12 + kinds)(file, draw), True
    if draw.random() < 0.5:
        done = draw.choice(kinds)(file, draw)
        return done, "removed" in done  # what is not there is not tested, whatever else is
    done = (edit_table if file.suffix == ".parquet" else edit_tensors)(file, draw)
    sealed = draw.random() < 0.5
    if sealed:
        seal(run, file)
    return f"{done}{', sealed' if sealed else ''}", sealed


def truncate(file: Path, draw: random.Random) -> str:
    content = file.read_bytes()
    file.write_bytes(content[: draw.randrange(len(content) + 1)])
    return "cut off"


def flip(file: Path, draw: random.Random) -> str:
    content = bytearray(file.read_bytes())
    for _ in range(draw.randrange(1, 9)):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    file.write_bytes(bytes(content))
    return "bits flipped"


def empty(file: Path, draw: random.Random) -> str:
    file.write_bytes(b"")
    return "emptied"


def remove(file: Path, draw: random.Random) -> str:
    if draw.random() < 0.3 and file.parent.name != "run":
        shutil.rmtree(file.parent)
        return "folder removed"
    file.unlink()
    return "removed"


def exchange(file: Path, draw: random.Random) -> str:
    root = next(parent for parent in file.parents if parent.name == "run")
    other = draw.choice(sorted(root.rglob(f"*{file.suffix}")))
    a, b = file.read_bytes(), other.read_bytes()
    file.write_bytes(b)
    other.write_bytes(a)
    return "exchanged"


def link(file: Path, draw: random.Random) -> str:
    """A file, or its whole folder, that is elsewhere."""
    root = next(parent for parent in file.parents if parent.name == "run")
    if draw.random() < 0.5 and file.parent != root:
        shutil.rmtree(file.parent)
        file.parent.symlink_to(root.parent / "victim")
        return "folder linked"
    file.unlink()
    file.symlink_to(root.parent / "victim" / "meta.json")
    return "linked"


def edit_json(file: Path, draw: random.Random) -> str:
    content = json.loads(file.read_text())
    place: Any = content
    while isinstance(place, dict | list) and place:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.choice(keys)
        if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.3:
            how = draw.randrange(4)
            if how == 0:
                del place[key]
            elif how == 1 and isinstance(place, dict):
                place[str(draw.choice(ODD))] = place.pop(key)
            else:
                place[key] = draw.choice(ODD)
            break
        place = place[key]
    file.write_text(json.dumps(content))
    return "JSON edited"


def edit_table(file: Path, draw: random.Random) -> str:
    table = pq.read_table(file)
    column = draw.randrange(max(table.num_columns, 1))
    how = draw.randrange(6)
    if table.num_columns == 0 or how == 0:
        table = table.slice(0, 0)
    elif how == 1:
        table = table.remove_column(column)
    elif how == 2:
        table = table.rename_columns([*table.column_names[:column], "../x", *table.column_names[column + 1 :]])
    elif how == 3:
        table = table.set_column(column, table.column_names[column], pa.nulls(table.num_rows))
    elif how == 4:
        words = pa.array(["../../victim"] * table.num_rows)
        table = table.set_column(column, table.column_names[column], words)
    else:
        table = pa.concat_tables([table, table.slice(0, 1)])
    pq.write_table(table, file)
    return "table edited"


def edit_tensors(file: Path, draw: random.Random) -> str:
    with contextlib.suppress(Exception):
        tensors = safetensors.numpy.load(file.read_bytes())
        name = draw.choice(sorted(tensors))
        how = draw.randrange(4)
        if how == 0:
            tensors["other"] = tensors.pop(name)
        elif how == 1:
            tensors[name] = tensors[name][:0]
        elif how == 2:
            tensors[name] = tensors[name].reshape(-1)
        else:
            tensors[name] = (tensors[name] * float("nan")).astype("float32")
        file.write_bytes(safetensors.numpy.save(tensors))
    return "tensors edited"


def seal(run: Path, file: Path) -> None:
    """Write the digest of a changed file where its result keeps it."""
    name = file.name if file.parent.parent.name == "results" else f"subspaces/{file.name}"
    for meta in run.glob(f"results/*/{META}"):
        content = json.loads(meta.read_text())
        if name in content["files"] and (file.parent == meta.parent or name.startswith("subspaces/")):
            content["files"][name] = sha(file.read_bytes())
            meta.write_text(json.dumps(content))


def beside(run: Path) -> dict[str, bytes]:
    """Everything beside the run's folder."""
    files = (path for path in run.parent.rglob("*") if path.is_file() and run not in path.parents)
    return {str(path.relative_to(run.parent)): path.read_bytes() for path in files}


def command(*arguments: str) -> tuple[int, str, str]:
    """A command's exit code, and what it said."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["numberline", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as stopped:
        return int(stopped.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("a command ends with an exit code")


def examine(bench: Bench, number: int, every: bool = True) -> tuple[str, list[str], Counter[str]]:
    """One case: what was done to the folder, what was wrong with the answers, and how often each kind was given.

    Every command, or one of those that draw nothing.
    """
    draw, wrong, said = random.Random(number), list[str](), Counter[str]()
    with bench.copy(number) as run:
        done = [mutate(run, draw) for _ in range(draw.choice([1, 1, 2, 3]))]
        sealed = any(sealed for _, sealed in done)
        known, id = beside(run), draw.choice(sorted(path.name for path in (bench.base / "results").iterdir()))
        asked = [("claims", str(run)), ("compare", str(run)), ("show", str(run), id)]
        asked += [("report", str(run), "--only", draw.choice(LABELS)), ("run",)] if every else [("run",)]
        asked = asked if every else [draw.choice(asked)]
        for words in asked:
            wrong += run_on(bench, run, sealed, said) if words == ("run",) else answer(bench, run, words, sealed, said)
        if beside(run) != known:
            wrong.append("a file outside the folder was touched")
    return "; ".join(what for what, _ in done), wrong, said


def answer(bench: Bench, run: Path, words: tuple[str, ...], sealed: bool, said: Counter[str]) -> list[str]:
    """What is wrong with the answer to a command."""
    code, _, err = command(*words)
    said[f"exit {code}"] += 1
    if code not in (0, 2) or "Traceback" in err or (code == 2 and err.count("\n") != 1):
        return [f"{words[0]}: exit code {code}, {err.strip()[-300:]}"]
    if words[0] == "claims" and code == 0 and not sealed and not same(bench, run):
        return ["claims: another ledger"]
    return []


def run_on(bench: Bench, run: Path, sealed: bool, said: Counter[str]) -> list[str]:
    """What is wrong with a run that goes on there."""
    try:
        found = run_demo(bench.lab, run)
    except NumberlineError:
        said["run refused"] += 1
        return []
    except Exception:
        return [f"run: {traceback.format_exc()[-400:]}"]
    said["run went on"] += 1
    return [] if found == 8.0 or sealed else [f"run: found {found}"]


def same(bench: Bench, run: Path) -> bool:
    """Whether the ledger says of every claim what it said before, or that it was not tested."""
    before, now = (json.loads(content)["claims"] for content in (bench.ledger, (run / FILE).read_bytes()))
    return all(new == old or new["verdict"] == "not tested" for old, new in zip(before, now, strict=True))


def main(cases: int, first: int = 0) -> int:
    """Examine so many folders; the number of wrong answers."""
    os.environ["COLUMNS"] = "200"
    failures, said, kinds = 0, Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        bench = Bench(Path(place))
        for number in range(first, first + cases):
            done, wrong, answers = examine(bench, number)
            said += answers
            kinds.update(done.split("; "))
            failures += bool(wrong)
            for each in wrong:
                print(f"case {number} ({done}): {each}", flush=True)
    print(f"{cases} folders, {failures} answered wrongly; {dict(said.most_common())}; {dict(kinds.most_common())}")
    return failures


if __name__ == "__main__":
    sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000) else 0)
