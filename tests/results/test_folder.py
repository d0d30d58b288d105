"""The run folder: read lazily, always as it is now; refused when another version, or a hand, has written it."""

import json
from pathlib import Path

import pytest

import numberline as nl
from numberline.errors import NumberlineError
from numberline.results.folder import RunFolder
from numberline.results.language import Language
from numberline.results.result import Result
from numberline.results.roles import Role
from numberline.results.schema import FORMAT, About, Configuration, Hardware, Model
from numberline.results.subspace import StoredSubspace
from numberline.results.table import NotMeasuredError

ROLE = Role("number_layer", (1,), 0.9, 0.5, float("nan"), True, why="it is there")


def about(**changed) -> About:
    fields = {
        "format": FORMAT,
        "configuration": Configuration(model="mine", size="quick", seed=52, task="max"),
        "language": Language(),
        "model": Model(
            name="mine", fingerprint="abc", architecture="qwen2", layers=2, heads=2, width=4, neurons=8, vocabulary=16,
            parameters=100, dtype="float32", device="cpu",
        ),
        "sizes": {"evaluation": 64, "operand_counts": (2, 3)},
        "versions": {"python": "3"},
        "hardware": Hardware(platform="x", processor="y", cores=2, threads=1, memory_gib=None, accelerators=()),
        "created": "today",
        "updated": "today",
    }  # fmt: skip
    return About(**{**fields, **changed})


@pytest.fixture
def path(tmp_path) -> Path:
    """A run with a result, one that could not be measured, and one that is not listed."""
    folder, basis = RunFolder(str(tmp_path / "run")), [[1.0], [0.0], [0.0], [0.0]]
    folder.describe(about())
    space = StoredSubspace(Result.of({}, 0, {"basis": basis}).tensor("basis"), {"model": "abc"})
    first = Result.of({"others": [{"x": 0}], "rows": [{"x": 1.5}]}, 3, {"t": [1, 2]}, {"u": space}, [ROLE])
    gone = Result({}, 0, missing="no such head", root="a.first")
    kept = {id: folder.save(id, made, "0", {}, 0.5) for id, made in {"a.first": first, "a.gone": gone}.items()}
    folder.save("a.old", Result.of({}, 0), "0", {}, 0.0)
    folder.describe(about(experiments={id: meta.entry for id, meta in kept.items()}))
    return folder.path


def edit(path: Path, *keys: str, to: object) -> None:
    """Change one entry of a JSON file by hand."""
    content = json.loads(path.read_text())
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    path.write_text(json.dumps(content))


def test_a_run_is_opened_by_its_path_as_a_string(path):
    run = nl.open_run(str(path))
    assert run.ids == ("a.first", "a.gone")
    assert run.table("a.first", "rows").to_pandas()["x"].tolist() == [1.5]
    result = run.result("a.first")
    assert (result.n, result.tensor("t").tolist(), result.subspace("u").rank) == (3, [1, 2], 1)
    assert run.roles["number_layer"].value == (1,)
    assert run.about.model.layers == 2
    assert run.about.language == Language()
    with pytest.raises(NotMeasuredError, match=r"a\.old was not run") as error:
        run.result("a.old")
    assert error.value.not_run == "a.old"
    with pytest.raises(NotMeasuredError, match=r"a\.gone could not be measured on this model: a\.first is missing: no"):
        run.result("a.gone")
    assert run.results["a.gone"].missing == "no such head"
    assert run.find("../a.first") is None


def test_parts_are_read_when_they_are_asked_for(path):
    run = nl.open_run(path)
    result = run.result("a.first")  # beartype, in tests, looks at the first table of every mapping
    (path / "results/a.first/rows.parquet").write_bytes(b"not a table")
    with pytest.raises(NumberlineError, match=r"rows\.parquet is damaged"):
        result.rows("rows")
    assert result.tensor("t") is result.tensor("t")
    (path / "results/a.first/tensors.safetensors").write_bytes(b"not tensors")
    assert result.tensor("t").tolist() == [1, 2]


def test_what_is_written_meanwhile_is_seen(path):
    run, writer = nl.open_run(path), RunFolder(path)
    assert run.table("a.first", "rows").rows == ({"x": 1.5},)
    writer.save("a.first", Result.of({"rows": [{"x": 2.5}]}, 4), "0", {}, 0.5)
    assert run.table("a.first", "rows").rows == ({"x": 2.5},)
    writer.describe(about())
    assert run.find("a.first") is None


@pytest.mark.parametrize(
    ("keys", "to", "said"),
    [
        (("format",), 1, "was made by another version of numberline"),
        (("format",), None, "was made by another version of numberline"),
        (("model", "layers"), "six", r"\(model.layers: Input should be a valid integer\)"),
        (("extra",), 1, r"\(extra: Extra inputs are not permitted\)"),
        (("experiments",), {"../up": {"digest": "", "n": 0, "seconds": 0.0}}, r"experiments.*should match pattern"),
        (("configuration",), {}, "configuration.model: Field required"),
    ],
)
def test_a_run_of_another_version_or_by_hand_is_refused(path, keys, to, said):
    edit(path / "run.json", *keys, to=to)
    with pytest.raises(NumberlineError, match=said) as error:
        nl.open_run(path)
    assert "\n" not in str(error.value)
    assert str(path / "run.json") in str(error.value)


@pytest.mark.parametrize("part", ["tables", "tensors", "subspaces"])
def test_names_that_leave_the_folder_are_refused_before_anything_is_touched(path, part):
    victim = path.parent / "victim.safetensors"
    for place in (victim, path.parent / "victim.parquet"):
        place.write_text("mine")
    edit(path / "results/a.first/meta.json", part, to={"../../victim": 1 if part != "tensors" else [1]})
    before = {file: file.read_bytes() for file in path.parent.rglob("*") if file.is_file()}
    run = RunFolder(path)
    for ask in (
        lambda: run.find("a.first"),
        lambda: run.results,
        lambda: run.save("a.first", Result.of({}, 0), "1", {}, 0.0),
    ):
        with pytest.raises(NumberlineError, match="should match pattern"):
            ask()
    assert {file: file.read_bytes() for file in path.parent.rglob("*") if file.is_file()} == before


def test_a_result_in_the_folder_of_another_is_refused(path):
    edit(path / "results/a.first/meta.json", "id", to="a.gone")
    with pytest.raises(NumberlineError, match=r"holds the result 'a\.gone'"):
        RunFolder(path).find("a.first")


def test_what_is_not_a_run_is_refused(tmp_path):
    with pytest.raises(NumberlineError, match=r"holds no run \(no run.json\)"):
        nl.open_run(tmp_path)
    for text, said in (
        ("{not json", "cannot be read"),
        ("[]", "is not as numberline writes it"),
        ("", "cannot be read"),
    ):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(NumberlineError, match=said):
            nl.open_run(tmp_path)


def test_what_a_report_needs_of_a_concept_travels_with_the_run(path):
    months = Language(name="later", noun="month", nouns="months", larger="later", scale="linear", spelled={1: "May"})
    RunFolder(path).describe(about(language=months))
    read = nl.open_run(path).about.language
    assert read == months
    assert (read.spell(1), Language().spell(60)) == ("May", "60")
