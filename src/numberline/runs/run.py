"""How does a run go on after it was stopped, and end with the same numbers?

1. The folder must be empty or hold a run of the same configuration; another one's results are never overwritten.
2. run.json is written at once. It lists the results that are valid now: those whose digest of inputs is unchanged.
   It also lists the roles that they found or were given, with the evidence, and the words of the task.
3. Experiments run in an order that respects their needs. A valid result is kept. Another is computed, stored, and
   added to run.json. Within an experiment a journal keeps what was computed (`journal.py`): whatever stops the run,
   it loses less than a minute.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from numberline.engine.lab import Lab
from numberline.errors import NumberlineError
from numberline.experiments.common.experiment import Context, Experiment
from numberline.experiments.common.solved import on_solved
from numberline.experiments.registry import EXPERIMENTS, select
from numberline.files import make_folder
from numberline.results.folder import RunFolder
from numberline.results.roles import RunRole
from numberline.results.schema import FORMAT, About, Configuration, Meta
from numberline.runs import digests, provenance
from numberline.runs.journal import FOLDER, KeptJournal
from numberline.runs.language import language_of
from numberline.runs.used_code import of_files, sha
from numberline.seed import SEED
from numberline.tasks.ability import check_suits
from numberline.tasks.concept import Concept
from numberline.tasks.counterfactuals import Counterfactual
from numberline.tasks.files import read_counterfactuals
from numberline.tasks.limits import within
from numberline.tasks.registry import concept_of, source_of
from numberline.tasks.sampling import digest
from numberline.tasks.sizes import MEDIUM, PAPER, QUICK, Sizes
from numberline.tasks.task import Task
from numberline.tasks.variants import PAPER_PROMPT

SIZES = {"paper": PAPER, "medium": MEDIUM, "quick": QUICK}


@dataclass(frozen=True)
class Settings:
    """What the user chooses beside the model."""

    size: str = "paper"
    seed: int = SEED
    task: str = "max"
    roles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    examples: str | None = None
    """A CSV file of the user's own counterfactuals."""
    prompt: str = PAPER_PROMPT.name
    """In which words the question is asked (tasks/variants.py)."""
    solved: bool = False
    """Whether only examples that the model solves are used."""

    def __post_init__(self) -> None:
        if self.size not in SIZES:
            raise NumberlineError(f"there is no size {self.size!r}: choose from {', '.join(SIZES)}")
        _ = self.concept
        if self.solved and self.examples:
            raise NumberlineError(
                f"the examples in {self.examples} are used as they are and cannot be filtered: leave --solved out"
            )

    @cached_property
    def concept(self) -> Concept:
        """What is compared, and in which words it is asked."""
        return concept_of(self.task).asked(self.prompt)

    @property
    def sizes(self) -> Sizes:
        """The sample sizes, as far as the concept has values for them."""
        return within(SIZES[self.size], self.concept)

    @property
    def context(self) -> Context:
        """What experiments are told of it."""
        return Context(
            self.sizes,
            self.seed,
            self.concept,
            roles=self.roles,
            examples=self.counterfactuals,
            solved=self.solved,
        )

    @cached_property
    def counterfactuals(self) -> tuple[Counterfactual, ...]:
        """The user's own, of two operands; none where no file was given."""
        return read_counterfactuals(self.examples, Task(self.concept)) if self.examples else ()


@runtime_checkable
class Watcher(Protocol):
    """Is told how a run goes on."""

    def started(self, experiment: Experiment) -> None:
        """An experiment begins."""

    def progress(self, done: int, total: int) -> None:
        """The experiment under way got this far."""

    def finished(self, experiment: Experiment, meta: Meta, kept: bool) -> None:
        """An experiment ended, or was kept from before."""

    def warned(self, sentence: str) -> None:
        """Something is not as it should be, and the run goes on."""


@dataclass
class Run:
    """A model, a folder, what was chosen, and all experiments that there are."""

    lab: Lab
    folder: RunFolder
    settings: Settings = field(default_factory=Settings)
    experiments: Mapping[str, Experiment] = field(default_factory=lambda: EXPERIMENTS)

    def __post_init__(self) -> None:
        if self.settings.solved:
            self.experiments = on_solved(self.experiments)

    def execute(self, patterns: Sequence[str], watcher: Watcher) -> list[Meta]:
        """Answer the experiments whose ids match, needs first, keeping what is valid."""
        chosen = select(patterns, self.experiments)
        check_suits(self.lab, Task(self.settings.concept))
        wanted = self._digests()
        about = self._open(wanted)
        done: list[Meta] = []
        for experiment in chosen:
            kept = self._valid(experiment.id, wanted)
            if kept is None:
                watcher.started(experiment)
            meta = kept or self._compute(experiment, wanted, watcher)
            about = with_result(about, meta)
            self.folder.describe(about)
            watcher.finished(experiment, meta, kept is not None)
            done.append(meta)
        return done

    def _digests(self) -> dict[str, str]:
        """The digest that each experiment's result must have to be valid."""
        found: dict[str, str] = {}
        for experiment in select(("*",), self.experiments):
            needs = {id: found[id] for id in experiment.needs}
            found[experiment.id] = digests.of_inputs(experiment, self._identity(), needs)
        return found

    def _valid(self, id: str, wanted: Mapping[str, str]) -> Meta | None:
        """The stored result's description, if it is what would be computed again."""
        meta = self.folder.meta(id)
        return meta if meta is not None and meta.digest == wanted[id] else None

    def _identity(self) -> dict[str, Any]:
        """Everything outside the code that decides a number."""
        dtype = str(self.lab.network.dtype).removeprefix("torch.")
        sizes = asdict(self.settings.sizes)
        model = {"name": self.lab.loaded.name, "fingerprint": self.lab.loaded.fingerprint, "dtype": dtype}
        concept = of_files([source_of(self.settings.task)])
        chosen = configuration(self.lab.loaded.name, self.settings).model_dump()
        mine = digest([*each.clean, *each.corrupted] for each in self.settings.counterfactuals)
        return {**chosen, "model": model, "sizes": sizes, "concept": concept, "examples": mine}

    def _open(self, wanted: Mapping[str, str]) -> About:
        """Check or make the folder, and write which of its results are valid."""
        chosen = configuration(self.lab.loaded.name, self.settings)
        before = check_free(self.folder, chosen)
        make_folder(self.folder.path / "results")
        about = About(
            format=FORMAT,
            configuration=chosen,
            language=language_of(self.settings.concept),
            model=provenance.describe(self.lab),
            sizes=asdict(self.settings.sizes),
            versions=provenance.versions(),
            hardware=provenance.hardware(),
            created=before.created if before is not None else _now(),
            updated=_now(),
        )
        for id in wanted:
            meta = self._valid(id, wanted)
            if meta is not None:
                about = with_result(about, meta)
                shutil.rmtree(self._work(id), ignore_errors=True)  # killed between the result and the end of its work
        self.folder.describe(about)
        return about

    def _compute(self, experiment: Experiment, wanted: Mapping[str, str], watcher: Watcher) -> Meta:
        needs = {id: self.folder.load(id) for id in experiment.needs}
        context = replace(self.settings.context, needs=needs, progress=watcher.progress)
        digest, chain = wanted[experiment.id], {id: wanted[id] for id in experiment.needs}
        journal = KeptJournal(self._work(experiment.id), self._key(digest), watcher.warned)
        try:
            result = experiment(replace(self.lab, journal=journal), context)
        except KeyboardInterrupt:
            journal.write()
            raise
        meta = self.folder.save(experiment.id, result, digest, chain, journal.seconds)
        journal.close()
        return meta

    def _work(self, id: str) -> Path:
        return self.folder.path / FOLDER / id

    @staticmethod
    def _key(digest: str) -> str:
        """Of the journal: the bits of a number also depend on the versions and on the machine."""
        return sha(json.dumps([digest, provenance.versions(), provenance.hardware().model_dump()], sort_keys=True))


def with_result(about: About, meta: Meta) -> About:
    """run.json with one more result, and with the roles that it says."""
    roles = {role.name: RunRole(**asdict(role), experiment=meta.id) for role in meta.roles}
    return about.model_copy(
        update={
            "experiments": {**about.experiments, meta.id: meta.entry},
            "roles": {**about.roles, **roles},
            "updated": _now(),
        }
    )


def configuration(model: str, settings: Settings) -> Configuration:
    """What a folder's runs have in common: the model by name, and what the user chose."""
    roles = dict(sorted(settings.roles.items()))
    return Configuration(
        model=model,
        size=settings.size,
        seed=settings.seed,
        task=settings.task,
        roles=roles,
        examples=settings.examples,
        prompt=settings.prompt,
        solved=settings.solved,
    )


def check_free(folder: RunFolder, chosen: Configuration) -> About | None:
    """What run.json says of an earlier run of this configuration, or None; refuses a folder that cannot be used."""
    existing = next(place for place in (folder.path.absolute(), *folder.path.absolute().parents) if place.exists())
    if not existing.is_dir():
        raise NumberlineError(f"{existing} is a file: choose a folder for the results")
    if not os.access(existing, os.W_OK):
        raise NumberlineError(f"{existing} may not be written to: choose another folder for the results")
    before = folder.find_about()
    if before is None:
        if folder.path.is_dir() and any(folder.path.iterdir()):
            raise NumberlineError(f"{folder.path} is not empty and holds no run: choose another folder")
        return None
    if before.configuration != chosen:
        raise NumberlineError(
            f"{folder.path} holds a run of {before.configuration.words}, and this one is {chosen.words}: "
            "choose another folder"
        )
    return before


def folder_name(model: str, settings: Settings) -> Path:
    """Where a run goes unless the user says so: runs/MODEL, with what is not the default."""
    words = [Path(model).name or "model"]
    default = Settings()
    words += [settings.concept.name] if settings.task != default.task else []
    words += [settings.size] if settings.size != default.size else []
    words += [f"seed{settings.seed}"] if settings.seed != default.seed else []
    words += [f"{name}{'.'.join(map(str, value))}" for name, value in sorted(settings.roles.items())]
    words += [Path(settings.examples).stem] if settings.examples else []
    words += [settings.prompt] if settings.prompt != default.prompt else []
    words += ["solved"] if settings.solved else []
    return Path("runs") / "-".join(words)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
