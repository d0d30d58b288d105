"""Which code does a function use? A digest of each piece of it, without comments, docstrings and layout.

1. A function of a file uses that file, and every module of this package, or beside the file, that it imports, directly
   or not; an import inside a function counts, for it may be reached. A name of the package's public face
   (`from numberline import swap`, `nl.swap`) stands for the module that it comes from.
2. A function of a notebook has no file. It uses its own source (its bytecode, where Python keeps no source), and what
   it names in the notebook: other functions and classes in the same way, values as they are now, and the files of what
   was imported.
3. A declaration in a TOML file is what it says, in any layout, and uses what reads it.
4. A file is parsed once in a process, until it changes.
"""

import ast
import hashlib
import inspect
import json
import re
import sysconfig
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[1]
INSTALLED = frozenset({"site-packages", "dist-packages"})
STANDARD = Path(sysconfig.get_path("stdlib"))


def used_by(function: Callable[..., Any], *files: Path) -> list[tuple[str, str]]:
    """Every piece of code that a function uses, with its digest, and these files with what they import."""
    used = Used()
    used.see(function)
    return sorted([*used.pieces.items(), *of_files((*files, *used.files))])


def of_files(files: Iterable[Path]) -> list[tuple[str, str]]:
    """Some source files and all that they import, with their digests."""
    seen: dict[Path, str] = {}
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        if file not in seen:
            stamp = file.stat()
            module = parsed(file, (stamp.st_mtime_ns, stamp.st_size))
            seen[file] = module.digest
            waiting += module.imports
    names = (str(file.relative_to(PACKAGE)) if file.is_relative_to(PACKAGE) else file.name for file in seen)
    return list(zip(names, seen.values(), strict=True))


@dataclass(frozen=True)
class Module:
    """A parsed file: the digest of its code, and the files that it imports."""

    digest: str
    imports: tuple[Path, ...]


@cache
def parsed(file: Path, stamp: tuple[int, int]) -> Module:  # noqa: ARG001 (a file that changed is parsed again)
    """A source file."""
    if file.suffix == ".toml":
        said = json.dumps(tomllib.loads(file.read_text(encoding="utf-8")), sort_keys=True, default=str)
        return Module(sha(said), (PACKAGE / "tasks/declaration.py",))
    tree = ast.parse(file.read_bytes())
    beside = () if file.is_relative_to(PACKAGE) else (file.parent,)
    return Module(sha(plain(tree)), tuple(dict.fromkeys(_imports(tree, beside))))


def _imports(tree: ast.Module, beside: Iterable[Path]) -> Iterator[Path]:
    """The files of this package, or of a folder beside it, that a module imports."""
    nodes = list(ast.walk(tree))
    imported = (alias for node in nodes if isinstance(node, ast.Import) for alias in node.names)
    faces = {alias.asname or alias.name for alias in imported if alias.name == PACKAGE.name}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in faces:
            names = [f"{PACKAGE.name}.{node.attr}"]
        else:
            continue
        for name in names:
            yield from _files(name, beside)


def _files(name: str, beside: Iterable[Path]) -> Iterator[Path]:
    """The file of a module by its full name, where it is ours."""
    package, *parts = name.split(".")
    if package != PACKAGE.name:
        places = [folder.joinpath(package, *parts) for folder in beside]
    elif len(parts) == 1 and parts[0] in _public_face():
        places = [PACKAGE.joinpath(*_public_face()[parts[0]].split(".")[1:])]
    else:
        places = [PACKAGE.joinpath(*parts)] if parts else []
    for place in places:
        yield from (file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())


@cache
def _public_face() -> dict[str, str]:
    """The names that the package itself offers, and the modules that they come from."""
    tree = ast.parse((PACKAGE / "__init__.py").read_bytes())
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    return {alias.asname or alias.name: str(node.module) for node in found for alias in node.names}


@dataclass
class Used:
    """What a function was found to use: pieces without a file, and files."""

    pieces: dict[str, str] = field(default_factory=dict)
    files: set[Path] = field(default_factory=set)

    def see(self, value: Any, name: str = "", names: Iterable[str] = ()) -> None:
        """Follow a value; `names` are the attributes that may be taken of a module."""
        if isinstance(value, MethodType):
            value = value.__func__
        value = inspect.unwrap(value) if isinstance(value, FunctionType) else value
        file = _home(value)
        if isinstance(value, ModuleType) and file == PACKAGE / "__init__.py":
            for part in names:
                self.files.update(_files(f"{PACKAGE.name}.{part}", ()))
        elif file is not None:
            installed = INSTALLED.intersection(file.parts) or file.is_relative_to(STANDARD)
            if file.is_relative_to(PACKAGE) or not installed:
                self.files.add(file)
        elif isinstance(value, FunctionType):
            self._see_function(value)
        elif isinstance(value, type):
            for part in vars(value).values():
                if isinstance(part, FunctionType):
                    self.see(part)
        elif not isinstance(value, ModuleType):
            self.pieces[name] = sha(_text(value))
            if type(value).__module__ != "builtins":
                self.see(type(value))

    def _see_function(self, function: FunctionType) -> None:
        key = f"{function.__module__}.{function.__qualname__}"
        if key in self.pieces:
            return
        self.pieces[key] = sha(_source(function))
        names = set(_names(function.__code__))
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for name in sorted(names):
            if name in cells:
                self.see(cells[name].cell_contents, f"{key}.{name}", names)
            elif name in function.__globals__:
                self.see(function.__globals__[name], f"{function.__module__}.{name}", names)


def _home(value: Any) -> Path | None:
    """The file in which a function, class or module is written; what is typed into a notebook has none."""
    if isinstance(value, FunctionType):
        place = value.__code__.co_filename
    elif isinstance(value, type):
        place = next((part.__code__.co_filename for part in vars(value).values() if isinstance(part, FunctionType)), "")
        place = place if Path(place).is_file() else getattr(inspect.getmodule(value), "__file__", None) or ""
    else:
        place = getattr(value, "__file__", None) or "" if isinstance(value, ModuleType) else ""
    return Path(place) if place.endswith(".py") and Path(place).is_file() else None


def _names(code: CodeType) -> Iterator[str]:
    """Every name that a function reads from outside, those of the functions inside it too."""
    yield from (*code.co_names, *code.co_freevars)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _source(function: FunctionType) -> str:
    try:
        return plain(ast.parse(textwrap.dedent(inspect.getsource(function))))
    except (OSError, TypeError, SyntaxError):
        return _bytecode(function.__code__, function.__doc__)


def _bytecode(code: CodeType, words: str | None = None) -> str:
    constants = [_bytecode(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts if c != words]
    return repr((code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars))


def _text(value: Any) -> str:
    """A value as text: an array by its bytes, and nothing that is different in the next process."""
    if hasattr(value, "__array__"):
        return f"{value.dtype} {hashlib.sha256(np.asarray(value).tobytes()).hexdigest()}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def plain(tree: ast.Module) -> str:
    """The code alone: no comments, no docstrings, one layout."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [line for line in body if not _is_text(line)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(tree)


def _is_text(line: ast.AST) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def sha(text: str) -> str:
    """A short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
