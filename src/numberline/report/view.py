"""What was run, and which roles were found? What captions, diagrams and tables say of a run, in words.

Everything comes from the run's folder. A role that was not found, or not looked for, is said so in words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numberline.report.recovery import Recovery
from numberline.results.folder import RunFolder
from numberline.results.language import PAPER, Language
from numberline.results.roles import Role
from numberline.results.schema import Model
from numberline.results.table import NotMeasuredError, Row


@dataclass(frozen=True)
class RunView:
    """A run as a report sees it, and which position recovery is shown of it."""

    run: RunFolder
    recovery: Recovery = Recovery.POOLED

    @property
    def model(self) -> str:
        """The model's name as the user gave it."""
        return self.run.about.model.name

    @property
    def language(self) -> Language:
        """The words of the task."""
        return self.run.about.language

    @property
    def size(self) -> str:
        """Of the run: paper or quick."""
        return self.run.about.configuration.size

    @property
    def sizes(self) -> Mapping[str, Any]:
        """The sample sizes used."""
        return self.run.about.sizes

    @property
    def shape(self) -> Model:
        """The model's layers, heads, width, neurons."""
        return self.run.about.model

    @property
    def note(self) -> str:
        """The line that a figure of a smaller run carries."""
        if self.size == "paper":
            return ""
        return f"{self.size} run: {self.sizes['evaluation']} evaluation examples"

    @cached_property
    def roles(self) -> Mapping[str, Role]:
        """Every role that a result speaks of."""
        return self.run.roles

    def has(self, name: str) -> bool:
        """Whether a role was found."""
        return name in self.roles and self.roles[name].found

    def value(self, name: str) -> tuple[int, ...]:
        """A role's value; raises where there is none."""
        role = self.roles.get(name)
        if role is None:
            raise NotMeasuredError(f"the {self.role(name)} was not looked for in this run")
        if not role.found:
            raise NotMeasuredError(f"the {self.role(name)} was not found: {role.why}")
        return role.value

    def spelled(self, name: str) -> str:
        """A role's value as written in a figure: 13, L14.H14, 14 and 15; "not found" where there is none."""
        return spelled(name, self.value(name)) if self.has(name) else "not found"

    def chosen(self, role: str, rows: Sequence[Row]) -> Row:
        """Of rows about heads the one of the head that plays a role, which other examples chose; else the best one."""
        site = self.value(role) if self.has(role) else ()
        own = (row for row in rows if (row["layer"], row["head"]) == site)
        return next(own, max(rows, key=lambda row: float(row["mean"])))

    @property
    def number_layer(self) -> str:
        """In a title: layer 13, or the number layer."""
        return self._layer("number_layer", f"the {self.role('number_layer')}")

    @property
    def transport_layer(self) -> str:
        """In a title: layer 14, or the transport layer."""
        return self._layer("transport_head", "the transport layer")

    @property
    def flag_layer(self) -> str:
        """In a title: layer 15, or the flag layer."""
        return self._layer("flag_layer", "the flag layer")

    @property
    def transport_head(self) -> str:
        """In a title: L14.H14, or the transport head."""
        return self.spelled("transport_head") if self.has("transport_head") else "the transport head"

    def role(self, name: str) -> str:
        """A role's name in this run's words: the month layer."""
        return words(name, self.language)

    def _layer(self, role: str, otherwise: str) -> str:
        return f"layer {self.value(role)[0]}" if self.has(role) else otherwise


def words(name: str, language: Language = PAPER) -> str:
    """A role's name in words: number_layer is the number layer, of whole numbers."""
    plain = name.replace("number", language.noun).replace("readout", "read-out").replace("_", " ")
    return {"comparator_mlps": "set of comparator MLPs"}.get(name, plain)


def spelled(name: str, value: tuple[int, ...]) -> str:
    """The value of the role of this name: 13, L14.H14, 14 and 15."""
    return f"L{value[0]}.H{value[1]}" if "_head" in name else join([str(number) for number in value])


def join(parts: list[str]) -> str:
    """A, B and C."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "none"
