"""How does a run go on after it was stopped, and end with the same numbers?

1. The folder must be empty or hold a run of the same configuration (`identity.py`); another one's results are never
   overwritten. It is locked while the run goes on (`lock.py`).
2. run.json is written at once. It lists the results that are valid now: those whose digest of inputs is unchanged, and
   whose files are what their digests say.
   It also lists the roles that they found or were given, with the evidence, and the words of the task.
3. Experiments run in an order that respects their needs. A valid result is kept. Another is computed, stored, and
   added to run.json. Within an experiment a journal keeps what was computed (`journal.py`): whatever stops the run,
   it loses less than a minute.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from numberline.engine.lab import Lab
from numberline.experiments.common.experiment import Experiment
from numberline.experiments.common.roles import check_range
from numberline.experiments.common.solved import on_solved
from numberline.experiments.registry import EXPERIMENTS, select
from numberline.files import make_folder, remove_leftovers
from numberline.results import storage
from numberline.results.folder import META, RunFolder
from numberline.results.roles import RunRole
from numberline.results.schema import FORMAT, About, Configuration, DamagedError, Made, Meta
from numberline.runs import digests, peak, provenance
from numberline.runs.identity import ModelChoice, check_free, configuration
from numberline.runs.journal import FOLDER, KeptJournal
from numberline.runs.language import language_of
from numberline.runs.lock import held
from numberline.runs.settings import Settings
from numberline.runs.used_code import of_files, sha
from numberline.tasks.ability import check_suits
from numberline.tasks.registry import source_of
from numberline.tasks.sampling import digest
from numberline.tasks.task import Task

__all__ = ["Run", "Settings", "Watcher", "with_result"]


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
        """Answer the experiments whose ids match, needs first, keeping what is valid, alone on the folder."""
        chosen = select(patterns, self.experiments)
        check_suits(self.lab, Task(self.settings.concept))
        for role, value in self.settings.roles.items():
            check_range(self.lab.network, role, value)
        check_free(self.folder, self.configuration)
        with held(self.folder.path):
            return self._execute(chosen, watcher)

    def _execute(self, chosen: Sequence[Experiment], watcher: Watcher) -> list[Meta]:
        wanted = self.digests()
        about = self._open(wanted, watcher)
        done: list[Meta] = []
        for experiment in chosen:
            kept = self.folder.meta(experiment.id) if experiment.id in about.experiments else None
            if kept is None:
                watcher.started(experiment)
            meta = kept or self._compute(experiment, wanted, watcher)
            about = with_result(about, meta)
            self.folder.describe(about)
            watcher.finished(experiment, meta, kept is not None)
            done.append(meta)
        return done

    def digests(self) -> dict[str, str]:
        """The digest that each experiment's result must have to be valid."""
        found: dict[str, str] = {}
        for experiment in select(("*",), self.experiments):
            needs = {id: found[id] for id in experiment.needs}
            found[experiment.id] = digests.of_inputs(experiment, self._identity(), needs)
        return found

    def _valid(self, id: str, wanted: Mapping[str, str], watcher: Watcher) -> Meta | None:
        """The stored result's description, if it is what would be computed again, and undamaged."""
        try:
            meta = self.folder.meta(id)
            if meta is None or meta.digest != wanted[id]:
                return None
            damaged = self.folder.damaged(meta)
        except DamagedError:
            damaged = self.folder.path / "results" / id / META
            self.folder.forget(id)
        if damaged is None:
            return meta
        watcher.warned(f"{damaged} is damaged: {id} is made again")
        return None

    def _identity(self) -> dict[str, Any]:
        """Everything outside the code that decides a number."""
        sizes = asdict(self.settings.sizes)
        concept = of_files([source_of(self.settings.task)])
        mine = digest([*each.clean, *each.corrupted] for each in self.settings.counterfactuals)
        model = {"fingerprint": self.lab.loaded.fingerprint, "sizes": sizes, "concept": concept, "examples": mine}
        return {**self.configuration.model_dump(), **model}

    @cached_property
    def configuration(self) -> Configuration:
        """Which run it is."""
        return configuration(ModelChoice.of(self.lab), self.settings)

    def _open(self, wanted: Mapping[str, str], watcher: Watcher) -> About:
        """Check or make the folder, and write which of its results are valid."""
        before = check_free(self.folder, self.configuration)
        make_folder(self.folder.path / "results")
        for place in (self.folder.path, self.folder.path / storage.SUBSPACES):
            remove_leftovers(place)
        about = About(
            format=FORMAT,
            configuration=self.configuration,
            language=language_of(self.settings.concept),
            model=provenance.describe(self.lab),
            sizes=asdict(self.settings.sizes),
            versions=provenance.versions(),
            hardware=provenance.hardware(),
            created=before.created if before is not None else _now(),
            updated=_now(),
        )
        for id in wanted:
            meta = self._valid(id, wanted, watcher)
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
        device = self.lab.memory.device
        peak.reset(device)
        try:
            result = experiment(replace(self.lab, journal=journal), context)
        except KeyboardInterrupt:
            journal.write()
            raise
        made = Made(
            configuration=self.configuration,
            versions=provenance.versions(),
            hardware=provenance.hardware(),
            at=_now(),
        )
        meta = self.folder.save(experiment.id, result, digest, chain, journal.seconds, made, peak.largest(device))
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
