"""What does the user choose beside the model? The sizes, the seed, the question with its words, sites and examples."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from numberline.errors import NumberlineError
from numberline.experiments.common.experiment import Context
from numberline.seed import SEED
from numberline.tasks.concept import Concept
from numberline.tasks.counterfactuals import Counterfactual
from numberline.tasks.files import read_counterfactuals
from numberline.tasks.limits import within
from numberline.tasks.registry import concept_of
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
