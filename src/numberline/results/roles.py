"""What is a role? A part that a site of a model plays, with the evidence that chose it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Role:
    """A part that a site plays. `value` is one layer, several, or (layer, head); `score` is what chose it."""

    name: str
    value: tuple[int, ...]
    score: float
    margin: float
    noise: float
    found: bool
    source: str = "this run"
    why: str = ""
    chosen_on: str = ""
    """The examples that chose it ("choosing"); never those on which claims are judged."""

    @property
    def layer(self) -> int:
        """The (first) layer."""
        return self.value[0]

    @property
    def head(self) -> int:
        """The head, for a role that is played by one."""
        return self.value[1]


@dataclass(frozen=True, kw_only=True)
class RunRole(Role):
    """A role as run.json lists it: with the experiment that found it."""

    experiment: str
