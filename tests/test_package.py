"""What is installed is complete: the wheel holds every module, the built-in weights and tokenizers, nothing else."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import numberline
from numberline.models.catalogue import TRAINED

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = [
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "--disable-pip-version-check",
        "--wheel-dir",
        str(folder),
    ]
    subprocess.run([sys.executable, "-m", "pip", "wheel", str(ROOT), *options], check=True, timeout=120)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_module(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src/numberline").rglob("*.py")}
    assert modules <= inside
    assert "numberline/runs/digests.py" in inside
    assert "numberline/py.typed" in inside
    assert not [name for name in inside if not name.startswith(("numberline/", "numberline-"))]


def test_the_wheel_says_under_which_licence_it_comes(wheel):
    archive = zipfile.ZipFile(wheel)
    (information,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    assert archive.read(f"{information}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert "License-Expression: Apache-2.0" in archive.read(f"{information}/METADATA").decode()


def test_the_version_is_the_same_everywhere():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == cited[1] == numberline.__version__
    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("name", TRAINED)
def test_the_wheel_holds_the_built_in_models(wheel, name):
    inside = {Path(path).name for path in zipfile.ZipFile(wheel).namelist() if f"/builtin/{name}/" in path}
    assert {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md"} <= inside


def test_the_wheel_can_be_imported_alone(wheel, tmp_path):
    """Unpacked elsewhere, with none of the dependencies in reach."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = "import numberline; print(numberline.__version__, numberline.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert str(tmp_path) in found.stdout
