"""Which run is it? The model with its dtype, kind of device and revision, and what the user chose.

All of it is in run.json, in every result's digest, in the folder's name (what is not the default) and in the command
that makes the run again: nothing of another run is ever overwritten, or taken for this one's.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from numberline.engine.lab import Lab
from numberline.errors import NumberlineError
from numberline.results.folder import RunFolder
from numberline.results.schema import About, Configuration, DamagedError
from numberline.runs.lock import nothing_else
from numberline.runs.settings import Settings


@dataclass(frozen=True)
class ModelChoice:
    """Which model, and how it is loaded."""

    name: str
    dtype: str = "float32"
    device: str = "cpu"
    revision: str | None = None

    @classmethod
    def of(cls, lab: Lab) -> "ModelChoice":
        """The one that is loaded."""
        loaded, network = lab.loaded, lab.network
        return cls(loaded.name, str(network.dtype).removeprefix("torch."), network.device.type, loaded.revision)


def configuration(model: ModelChoice, settings: Settings) -> Configuration:
    """What a folder's runs have in common: the model, and what the user chose."""
    return Configuration(
        model=model.name,
        dtype=model.dtype,
        device=model.device,
        revision=model.revision,
        size=settings.size,
        seed=settings.seed,
        task=settings.task,
        roles=dict(sorted(settings.roles.items())),
        examples=settings.examples,
        prompt=settings.prompt,
        solved=settings.solved,
    )


def folder_name(model: ModelChoice, settings: Settings) -> Path:
    """Where a run goes unless the user says so: runs/MODEL, with what is not the default."""
    words = [Path(model.name).name or "model"]
    default, usual = Settings(), ModelChoice("")
    words += [model.revision.replace("/", "_")] if model.revision else []
    words += [model.dtype] if model.dtype != usual.dtype else []
    words += [model.device] if model.device != usual.device else []
    words += [settings.concept.name] if settings.task != default.task else []
    words += [settings.size] if settings.size != default.size else []
    words += [f"seed{settings.seed}"] if settings.seed != default.seed else []
    words += [f"{name}{'.'.join(map(str, value))}" for name, value in sorted(settings.roles.items())]
    words += [Path(settings.examples).stem] if settings.examples else []
    words += [settings.prompt] if settings.prompt != default.prompt else []
    words += ["solved"] if settings.solved else []
    return Path("runs") / "-".join(words)


def check_free(folder: RunFolder, chosen: Configuration) -> About | None:
    """What run.json says of an earlier run of this configuration, or None; refuses a folder that cannot be used."""
    existing = next(place for place in (folder.path.absolute(), *folder.path.absolute().parents) if place.exists())
    if not existing.is_dir():
        raise NumberlineError(f"{existing} is a file: choose a folder for the results")
    if not os.access(existing, os.W_OK):
        raise NumberlineError(f"{existing} may not be written to: choose another folder for the results")
    try:
        before = folder.find_about()
    except DamagedError:
        # It can be made again where the results themselves say that they are of this run, and of no other.
        made_for = folder.configurations
        if not made_for or any(each != chosen for each in made_for):
            raise
        return None
    if before is None:
        if folder.path.is_dir() and not nothing_else(folder.path):
            raise NumberlineError(f"{folder.path} is not empty and holds no run: choose another folder")
        return None
    if before.configuration != chosen:
        raise NumberlineError(
            f"{folder.path} holds a run of {before.configuration.words}, and this one is {chosen.words}: "
            "choose another folder"
        )
    return before
