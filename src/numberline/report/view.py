"""What was run, and which roles were found? The view that captions, diagrams and tables name.

Roles come from the `roles` tables of the results (name, value, score, margin, noise, found, source, why). A role that
was not found, or not looked for, is said so in words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numberline.results.stored import CannotDrawError, Stored


@dataclass(frozen=True)
class RunView:
    """A run's view."""

    run: Stored

    @property
    def model(self) -> str:
        """The model's name as the user gave it."""
        return str(self.run.about.get("model", {}).get("name", "the model"))

    @property
    def kind(self) -> str:
        """The task: max or min."""
        return str(self.run.about.get("configuration", {}).get("task", "max"))

    @property
    def question(self) -> str:
        """What is asked, with two numbers in place."""
        return f"The {self.kind}imum of 60 and 10 is"

    @property
    def size(self) -> str:
        """Of the run: paper or quick."""
        return str(self.run.about.get("configuration", {}).get("size", "paper"))

    @property
    def sizes(self) -> Mapping[str, Any]:
        """The sample sizes used."""
        found: Mapping[str, Any] = self.run.about.get("sizes", {})
        return found

    @property
    def shape(self) -> Mapping[str, Any]:
        """The model's layers, heads, width, neurons."""
        found: Mapping[str, Any] = self.run.about.get("model", {})
        return found

    @property
    def note(self) -> str:
        """The line that a figure of a smaller run carries."""
        if self.size == "paper":
            return ""
        return f"{self.size} run: {self.sizes.get('evaluation', '?')} evaluation examples"

    @cached_property
    def roles(self) -> Mapping[str, Mapping[str, Any]]:
        """Every role that a result speaks of."""
        found: dict[str, Mapping[str, Any]] = {}
        for id in self.run.ids:
            result = self.run.find(id)
            if result is not None and "roles" in result.tables:
                found.update({row["name"]: row for row in result.table("roles")})
        return found

    def value(self, name: str) -> tuple[int, ...]:
        """A role's value; raises where there is none."""
        row = self.roles.get(name)
        if row is None:
            raise CannotDrawError(f"the {words(name)} was not looked for in this run")
        if not row["found"]:
            raise CannotDrawError(f"the {words(name)} was not found: {row['why']}")
        return tuple(row["value"])

    def spelled(self, name: str) -> str:
        """A role's value as written in a figure: 13, L14.H14, 14 and 15; "not found" where there is none."""
        try:
            value = self.value(name)
        except CannotDrawError:
            return "not found"
        if "_head" in name:
            return f"L{value[0]}.H{value[1]}"
        return join([str(number) for number in value])

    @property
    def number_layer(self) -> str:
        """In a title: layer 13, or the number layer."""
        return self._layer("number_layer", "the number layer")

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
        spelled = self.spelled("transport_head")
        return spelled if spelled != "not found" else "the transport head"

    def _layer(self, role: str, otherwise: str) -> str:
        try:
            return f"layer {self.value(role)[0]}"
        except CannotDrawError:
            return otherwise


def words(name: str) -> str:
    """A role's name in words: number_layer is the number layer."""
    return {"comparator_mlps": "set of comparator MLPs", "readout_layer": "read-out layer"}.get(
        name, name.replace("readout", "read-out").replace("_", " ")
    )


def join(parts: list[str]) -> str:
    """A, B and C."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else "none"
