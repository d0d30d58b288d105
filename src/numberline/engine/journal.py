"""What of a long computation need not be done again? Its pieces, where somebody keeps them.

1. A chapter is one computation: a recording, a sweep, a fit. What decides it is said when it begins.
2. A piece is a part of it that is computed in one go: a slice of prompts, a wave of conditions, one minibatch's
   gradients. It has a name within its chapter, and is a function's tensors by name.
3. Who goes through the same chapters again in the same order, as an experiment that begins anew does, is given the
   pieces that are kept, and computes the others. All between pieces is cheap and is done again.

This journal keeps nothing: it is what a lab has outside of a run. A run gives its lab one that writes files
(`runs/journal.py`). A function that makes a piece must not begin a chapter: it is not called when the piece is kept.
"""

from collections.abc import Callable

from torch import Tensor

Piece = dict[str, Tensor]


class Chapter:
    """One computation, whose pieces are all made."""

    keeps = False
    """Whether a piece may come from before, so that what it changed elsewhere has to be in it."""

    def piece(self, name: str, make: Callable[[], Piece]) -> Piece:  # noqa: ARG002  the name is for who keeps it
        """A piece: kept from before, or made now."""
        return make()


class Journal:
    """Keeps nothing."""

    def chapter(self, *decides: object) -> Chapter:  # noqa: ARG002  for who keeps it
        """Begin the next computation; `decides` is what it is about: words, numbers, prompts, edits."""
        return Chapter()
