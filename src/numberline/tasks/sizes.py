"""How many examples does each experiment use? The paper's sample sizes, and smaller ones for a quick look.

Every population is drawn so that a smaller one is a prefix of a larger one: a quick run sees a subset of the full run.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Sizes:
    """The table "sample sizes and hyperparameters" of the paper, as far as it counts prompts."""

    evaluation: int = 400
    fitting: int = 128
    choosing: int = 128  # ours: the paper chooses layers and heads on the examples that it reports
    candidates: int = 1400  # quadruples drawn for three or more operands, before the unsolved ones are dropped
    number_cloud: int = 2000  # two operands, the number layer
    shared_cloud: int = 3000  # two operands, the shared plane
    edge_cloud: int = 1500  # two operands, the spread of a neuron
    three_cloud: int = 1500  # three operands
    pairs: int = 8010  # ordered two-digit pairs: all of them
    three_digit_pairs: int = 4000
    operand_counts: tuple[int, ...] = (2, 3, 4, 5, 10, 20)
    operand_prompts: int = 200  # per operand count
    dose_prompts: int = 64  # per cell
    dose_window: int = 2
    field_stride: int = 4
    patience: int = 0  # steps in which a fit's loss must still fall; 0: every fit makes all its steps


PAPER = Sizes()
QUICK = Sizes(
    evaluation=64,
    fitting=32,
    choosing=32,
    candidates=264,
    number_cloud=400,
    shared_cloud=600,
    edge_cloud=300,
    three_cloud=300,
    pairs=500,
    three_digit_pairs=250,
    operand_prompts=50,
    dose_prompts=16,
    field_stride=8,
    patience=20,
)

MEDIUM = replace(
    QUICK, evaluation=128, fitting=96, choosing=64, candidates=528, dose_prompts=64, field_stride=4, patience=0
)
"""For models whose mechanism is known: few prompts, but enough of them to tell a direction from what goes with it."""
