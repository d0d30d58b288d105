"""What is an experiment? A question with an id, its needs, and a function from a Lab and earlier results to a Result.

    @experiment("k2.trace", needs=("behaviour.pairs",))
    def trace(lab: Lab, context: Context) -> Result:
        \"""Where is each operand held, layer by layer?\"""
        …
        return Result.of({"recovery": rows}, tensors={"scores": scores}, n=len(examples))

An experiment draws every population from `context.sizes` and `context.seed` and reads earlier results from
`context.needs`, so that its id, its code, the model and the context say everything about its result.

What cannot be measured on this model and task (a role that was not found, too few values, a tokenizer that splits them
unevenly) is said so: the experiment raises `MissingError`, and its result holds the reason and, where that is another
experiment, its root.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.subspace import Subspace
from numberline.errors import LayoutError, NumberlineError, TooFewError
from numberline.results.names import ID
from numberline.results.result import Result
from numberline.seed import SEED
from numberline.tasks.concept import Concept
from numberline.tasks.concepts.whole_numbers import MAX
from numberline.tasks.counterfactuals import Counterfactual
from numberline.tasks.sizes import PAPER, Sizes

__all__ = ["Context", "Experiment", "MissingError", "Result", "experiment"]


class MissingError(NumberlineError):
    """An experiment cannot be done on this model: the reason, and the experiment at which it began, if another."""

    def __init__(self, reason: str, root: str | None = None) -> None:
        super().__init__(f"{root} is missing: {reason}" if root else reason)
        self.reason = reason
        self.root = root


@dataclass(frozen=True)
class Context:
    """What an experiment is given beside the model. `progress` is told (done, total) in units of its own.

    `roles` are the user's own choices of sites ({"number_layer": 13}), which stand above what a run finds. `examples`
    are the user's own counterfactuals, in place of sampled ones. With `solved`, only sampled ones that the model solves
    are used.
    """

    sizes: Sizes = PAPER
    seed: int = SEED
    concept: Concept = MAX
    needs: Mapping[str, Result] = field(default_factory=dict)
    progress: Callable[[int, int], object] = lambda *_: None
    roles: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    examples: tuple[Counterfactual, ...] = ()
    solved: bool = False

    def need(self, id: str) -> Result:
        """An earlier result; where it is missing itself, so is what builds on it."""
        if id not in self.needs:
            raise NumberlineError(f"the result {id!r} was not given: name it among the experiment's needs")
        result = self.needs[id]
        check_there(id, result)
        return result

    def tensor(self, id: str, name: str) -> Tensor:
        """A tensor of an earlier result."""
        return torch.tensor(self.need(id).tensor(name))

    def subspace(self, id: str, name: str) -> Subspace:
        """A subspace of an earlier result."""
        return Subspace.of(self.need(id).subspace(name))

    def meter(self, total: int) -> Callable[[int], None]:
        """A counter that reports progress: call it with how much more was done."""
        done = 0

        def advance(more: int) -> None:
            nonlocal done
            done += more
            self.progress(min(done, total), total)

        return advance


def check_there(id: str, result: Result) -> None:
    """What builds on a missing result is missing itself, and for the same reason."""
    if result.missing is not None:
        raise MissingError(result.missing, result.root or id)


@dataclass(frozen=True)
class Experiment:
    """A question that a run can answer; what is drawn from it says so itself."""

    id: str
    function: Callable[[Lab, Context], Result]
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not ID.fullmatch(self.id):
            raise NumberlineError(f"an experiment cannot have the id {self.id!r}: use a-z, 0-9, _ and dots")

    @property
    def question(self) -> str:
        """The question it answers: the first line of its docstring."""
        return (self.function.__doc__ or self.id).strip().splitlines()[0]

    def __call__(self, lab: Lab, context: Context) -> Result:
        """Answer it, or say what is missing."""
        try:
            result = self.function(lab, context)
        except MissingError as error:
            result = Result({}, n=0, missing=error.reason, root=error.root)
        except (TooFewError, LayoutError) as error:
            result = Result({}, n=0, missing=str(error))
        return replace(result, id=self.id)


def experiment(id: str, needs: Sequence[str] = ()) -> Callable[[Callable[[Lab, Context], Result]], Experiment]:
    """Make an experiment of a function."""
    return lambda function: Experiment(id, function, tuple(needs))
