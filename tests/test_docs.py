"""Every command and every Python block of README.md and docs/*.md works.

A page's blocks are run in order, in one empty folder, as a reader would. What cannot be run in a test says so in the
page, after a `#`: commands that need the Hub or a model of the reader's own are only parsed; `make` targets are looked
up in the Makefile; sample sizes are shrunk.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import typer

from numberline import cli
from numberline.runs.settings import SIZES
from numberline.tasks import QUICK

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FEW = replace(QUICK, pairs=40, three_digit_pairs=20, operand_prompts=5)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("# needs the Hub", "# needs a model in")
KNOWN = {". .venv/bin/activate"}


@dataclass(frozen=True)
class Command:
    """One command line of a page."""

    text: str
    elsewhere: bool

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text, comments=True)


def commands(block: str) -> Iterator[Command]:
    for line in block.strip().splitlines():
        elsewhere = any(mark in line for mark in ELSEWHERE)
        for part in line.split("#")[0].split("&&"):
            if part.strip():
                yield Command(part.strip(), elsewhere)


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def parse(words: list[str]) -> None:
    """Only parse a numberline command: an unknown command, option or value is an error."""
    group = typer.main.get_command(cli.app)
    name, *rest = words
    group.commands[name].make_context(name, rest)


def call(words: list[str], monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["numberline", *words])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 0, f"numberline {shlex.join(words)} failed"


def check_command(command: Command, monkeypatch) -> None:
    if command.text in KNOWN:
        return
    program, *words = command.words
    if program == "make":
        assert set(words) <= targets(), f"the Makefile has no {words}"
    elif program == "numberline":
        if command.elsewhere:
            parse(words)
        else:
            call(words, monkeypatch)
    else:
        pytest.fail(f"no test knows how to check: {command.text}")


@pytest.mark.timeout(1200)  # `numberline verify --quick` takes two minutes, and more on a busy machine
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_a_page_can_be_followed(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SIZES, "quick", FEW)
    names: dict[str, object] = {"__name__": page.stem}
    for language, block in BLOCK.findall(page.read_text()):
        if language == "python":
            exec(compile(block, str(page), "exec"), names)
        elif language in ("sh", "console", "bash"):
            for command in commands(block):
                check_command(command, monkeypatch)
        elif language == "toml":
            Path(block.split()[1]).write_text(block)  # its first line is a comment that names it
        else:
            assert language in ("", "text", "json", "csv", "yaml"), f"a block of {language} is not tested"
    assert "Traceback" not in capsys.readouterr().err


def test_readme_tells_the_two_commands_and_ten_lines():
    text = (ROOT / "README.md").read_text()
    assert "make run" in text
    assert "make test" in text
    python = [block for language, block in BLOCK.findall(text) if language == "python"]
    lines = [line for line in python[0].splitlines() if line.strip() and not line.startswith("import")]
    assert len(lines) <= 10


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_wrong_commands_would_be_seen(monkeypatch):
    with pytest.raises(AssertionError):
        check_command(Command("make nothing", False), monkeypatch)
    with pytest.raises(AssertionError):
        check_command(Command("numberline sample --case y9", False), monkeypatch)
    with pytest.raises(Exception, match="No such option"):
        check_command(Command("numberline run some/model --fast", True), monkeypatch)
    with pytest.raises(pytest.fail.Exception):
        check_command(Command("rm -r runs", False), monkeypatch)


def test_ci_runs_make_test():
    lines = [line for line in (ROOT / ".ci/run").read_text().splitlines() if line and not line.startswith("#")]
    assert lines[-1] == "make test"
    assert "set -e" in lines
    assert {"run", "test", "lint", "bench", "help"} <= targets()
