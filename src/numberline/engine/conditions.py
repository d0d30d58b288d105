"""A condition: a list of edits, resolved against the recording that it will be run on.

Resolving finds the tokens and the values of every edit and refuses what cannot be, before anything is computed. It also
tells where the first change is (nothing before it has to run) and whether there can be a change at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import Edit
from numberline.engine.recording import Recording
from numberline.engine.sites import EVERYWHERE, Resume, Site, check
from numberline.errors import NumberlineError


@dataclass(eq=False)
class Change:
    """An edit resolved against a recording: at which tokens, towards which values."""

    edit: Edit
    tokens: tuple[int, ...]
    source: Recording | Float[Tensor, "examples tokens d"] | None
    there: tuple[int, ...] = ()
    """The tokens in the source, when it is a recording."""
    fired: bool = False

    @property
    def layer(self) -> int:
        """The block it changes."""
        return self.edit.site.layer

    @property
    def source_site(self) -> Site:
        """Where the source is read."""
        return self.edit.source_site or self.edit.site


@dataclass(eq=False)
class Condition:
    """A list of changes and where the first of them is."""

    changes: list[Change]
    recording: Recording

    @property
    def token(self) -> int:
        """The first token that changes (without changes: the last)."""
        return min((change.tokens[0] for change in self.changes), default=self.recording.length - 1)

    @property
    def layer(self) -> int:
        """The first block that changes (without changes: the last)."""
        return min((change.layer for change in self.changes), default=self.recording.network.n_layers - 1)

    @property
    def inside(self) -> list[Change]:
        """The changes inside the first block (before the residual that leaves it)."""
        return [c for c in self.changes if c.layer == self.layer and c.edit.site.kind.resume < Resume.END]

    @property
    def inert(self) -> bool:
        """Whether nothing can change: no edit, or only swaps from prompts that are the same up to that token."""
        return all(
            change.edit.action == "replace"
            and change.edit.source_site is None
            and isinstance(change.source, Recording)
            and change.source.same_up_to(self.recording, change.tokens[-1])
            for change in self.changes
        )


@dataclass(eq=False)
class Sink:
    """A site to read in every condition, and where its values go."""

    site: Site
    tokens: tuple[int, ...]
    values: Float[Tensor, "conditions examples tokens d"]


def resolve(recording: Recording, edits: Sequence[Edit], generated: int = 0) -> Condition:
    """Check a condition's edits and find their tokens and values; refuses what cannot be.

    EVERYWHERE includes the `generated` tokens that a decoding run will add.
    """
    network = recording.network
    changes = []
    for edit in edits:
        check(edit.site, network)
        if edit.site.kind.written is None:
            raise NumberlineError(f"{edit.site}: a site of this kind can be read but cannot be edited")
        if isinstance(edit.along, Tensor) and edit.along.dim() == 3 and len(edit.along) != len(recording):
            raise NumberlineError(f"{edit.site}: {len(edit.along)} bases were given for {len(recording)} examples")
        more = generated if edit.site.position == EVERYWHERE else 0
        tokens = edit.site.tokens(recording.prompts.positions, recording.length + more)
        changes.append(Change(edit, tokens, *_source(recording, edit, tokens)))
    return Condition(changes, recording)


def _source(
    recording: Recording, edit: Edit, tokens: tuple[int, ...]
) -> tuple[Recording | Tensor | None, tuple[int, ...]]:
    """What an edit changes towards, and at which tokens that is found, if it is a recording."""
    source, site = edit.source, edit.source_site or edit.site
    if edit.function is not None:
        return None, ()
    if source is None or isinstance(source, Recording):
        source = source or recording
        if len(source) != len(recording):
            raise NumberlineError(f"{edit.site}: the source has {len(source)} prompts but the run has {len(recording)}")
        there = site.tokens(source.prompts.positions, source.length)
        if len(there) not in (1, len(tokens)):
            raise NumberlineError(f"{edit.site}: {len(there)} source tokens cannot fill {len(tokens)} tokens")
        return source, there
    while source.dim() < 3:  # one vector for all examples, or one per example: the missing axes have length one
        source = source.unsqueeze(1 if source.dim() == 2 else 0)
    if source.shape[0] not in (1, len(recording)):
        raise NumberlineError(
            f"{edit.site}: values for {source.shape[0]} examples were given, the run has {len(recording)}"
        )
    return source, ()
