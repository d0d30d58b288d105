"""What do run.json and meta.json hold? Declared here, and held to it when written and when read.

A file of another version, or one that was changed by hand, is refused in one sentence before anything else of the
folder is opened. Names are part of the schema, because they become names of files.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from numberline.errors import NumberlineError
from numberline.files import write_whole
from numberline.results.language import Language
from numberline.results.names import ID, NAME
from numberline.results.roles import Role, RunRole

FORMAT: Literal[3] = 3
Name = Annotated[str, StringConstraints(pattern=f"^{NAME.pattern}$")]
Id = Annotated[str, StringConstraints(pattern=f"^{ID.pattern}$")]


class DamagedError(NumberlineError):
    """A file is not as it was written."""


class Schema(BaseModel):
    """A part of a file: nothing more and nothing less than what is declared."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", ser_json_inf_nan="constants")


class Configuration(Schema):
    """What the user chose."""

    model: str
    dtype: str = "float32"
    device: str = "cpu"
    """The kind of device: cpu, cuda, mps."""
    revision: str | None = None
    size: str
    seed: int
    task: str
    roles: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    examples: str | None = None
    prompt: str = "paper"
    solved: bool = False

    @property
    def words(self) -> str:
        """In a sentence: model tiny, dtype float32, device cpu, size quick, seed 52, task max, prompt paper."""
        said = {key: value for key, value in self.model_dump().items() if value not in ({}, None, False)}
        return ", ".join(key if value is True else f"{key} {value}" for key, value in said.items())


class Model(Schema):
    """Who the model is, and its shape."""

    name: str
    fingerprint: str
    architecture: str
    layers: int
    heads: int
    width: int
    neurons: int
    vocabulary: int
    parameters: int
    dtype: str
    device: str


class Hardware(Schema):
    """The machine."""

    platform: str
    processor: str
    cores: int | None
    threads: int
    memory_gib: float | None
    accelerators: tuple[str, ...]


class Entry(Schema):
    """A valid result, as run.json lists it."""

    digest: str
    n: int
    seconds: float
    peak_bytes: int | None = None


class Made(Schema):
    """With what a result was made: a run that goes on elsewhere, or later, has results of several makes."""

    configuration: Configuration
    versions: dict[str, str]
    hardware: Hardware
    at: str


class About(Schema):
    """run.json: how a run was made, and which of its results are valid."""

    format: Literal[3]
    configuration: Configuration
    language: Language
    model: Model
    sizes: dict[str, int | tuple[int, ...]]
    versions: dict[str, str]
    hardware: Hardware
    created: str
    updated: str
    experiments: dict[Id, Entry] = Field(default_factory=dict)
    roles: dict[str, RunRole] = Field(default_factory=dict)


class Meta(Schema):
    """meta.json: what is known of a stored result without reading it."""

    format: Literal[3]
    id: Id
    digest: str
    needs: dict[Id, str]
    n: int
    seconds: float
    peak_bytes: int | None = None
    """The most memory of the process, or of its accelerator, while it was computed."""
    files: dict[str, str]
    """Each file's digest, by its place: NAME.parquet and tensors.safetensors beside meta.json, or in subspaces/."""
    made: Made | None = None
    tables: dict[Name, int] = Field(default_factory=dict)
    """Each table's number of rows."""
    tensors: dict[Name, tuple[int, ...]] = Field(default_factory=dict)
    """Each tensor's shape."""
    subspaces: dict[Name, int] = Field(default_factory=dict)
    """Each subspace's rank."""
    roles: tuple[Role, ...] = ()
    missing: str | None = None
    """Why the experiment, or a part of it, could not be done on this model."""
    root: Id | None = None
    """The experiment at which that began, where it is another one."""

    @property
    def entry(self) -> Entry:
        """What run.json says of it."""
        return Entry(digest=self.digest, n=self.n, seconds=self.seconds, peak_bytes=self.peak_bytes)


Known = TypeVar("Known", bound=Schema)


def read(path: Path, schema: type[Known]) -> Known | None:
    """A file as its schema; None where there is no such file."""
    try:
        return schema.model_validate_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise NumberlineError(f"{path} cannot be read ({error.strerror}): choose another folder") from error
    except ValidationError as error:
        other = any(each["loc"] == ("format",) for each in error.errors())
        kind = NumberlineError if other else DamagedError
        raise kind(f"{path} {_wrong(error)}: make the run again, in another folder") from error


def write(path: Path, content: Schema) -> None:
    """Write a file whole."""
    write_whole(path, (content.model_dump_json(indent=2) + "\n").encode())


def _wrong(error: ValidationError) -> str:
    """What is wrong with a file, in words."""
    found: list[Any] = error.errors()
    if found[0]["type"] == "json_invalid":
        return f"cannot be read ({found[0]['msg']})"
    if any(each["loc"] == ("format",) for each in found):
        return "was made by another version of numberline"
    where = ".".join(map(str, found[0]["loc"]))
    return f"is not as numberline writes it ({where}: {found[0]['msg']})"
