"""When is a stored result still valid? While the digest of everything that it depends on is unchanged:

- the code: the source of the experiment's module and of every module of this package that it imports, directly or not,
  without comments, docstrings and layout;
- the model: its fingerprint and its dtype;
- the question: the task's kind, the sample sizes and the seed, which decide every population;
- the needs: the digests of the results that it reads.
"""

import ast
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from numberline.experiments.common.experiment import Experiment

PACKAGE = Path(__file__).parents[1]


def of_inputs(experiment: Experiment, configuration: Mapping[str, Any], needs: Mapping[str, str]) -> str:
    """The digest of an experiment's inputs; `needs` maps the ids that it needs to their digests."""
    module = sys.modules[experiment.function.__module__]
    code = of_code(Path(str(module.__file__)))
    inputs = {"id": experiment.id, "code": code, "configuration": configuration, "needs": needs}
    return _sha(json.dumps(inputs, sort_keys=True))


@cache
def of_code(path: Path) -> str:
    """The digest of a source file and of all of this package that it imports."""
    seen: dict[Path, str] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            tree = ast.parse(file.read_bytes())
            waiting += _own_modules(tree)
            seen[file] = _sha(_plain(tree))
    names = {str(file.relative_to(PACKAGE)) if file.is_relative_to(PACKAGE) else file.name: seen[file] for file in seen}
    return _sha(json.dumps(names, sort_keys=True))


def _own_modules(tree: ast.Module) -> Iterator[Path]:
    """The files of this package that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            package, *parts = name.split(".")
            if package == "numberline" and parts:
                place = PACKAGE.joinpath(*parts)
                yield from (file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())


def _plain(tree: ast.Module) -> str:
    """The code alone: no comments, no docstrings, one layout."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_text(line)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(line: ast.AST) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
