"""What is installed is complete: the wheel holds every module, the built-in weights and tokenizers, nothing else."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
