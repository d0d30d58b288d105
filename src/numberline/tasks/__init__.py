"""What is asked, of which values, and where they stand: prompts, positions, counterfactuals, populations.

Knows tokenizers and no model. `Task` declares a question, `encode` turns operands into tokens with named positions,
`pool` and `perturb` give the paper's counterfactuals, `cloud` and its neighbours the clean prompts.
"""

from numberline.tasks.concept import Concept, Sentence, Words, ordered
from numberline.tasks.concepts.whole_numbers import LIST_EXEMPLAR, MAX, MIN, PAIR_EXEMPLAR
from numberline.tasks.counterfactuals import (
    CASE_ORDERS,
    HEAD_GROUPS,
    VALUE_ORDERS,
    Counterfactual,
    Hand,
    Order,
    Split,
    answer_ids,
    arrange,
    candidates,
    cases,
    clean_operands,
    corrupted_operands,
    counterfactual,
    deal,
    deal_examples,
    perturb,
    pool,
)
from numberline.tasks.files import from_csv, read_counterfactuals, to_csv, write_counterfactuals
from numberline.tasks.layout import answer_tokens, check_distinct_answers, encode
from numberline.tasks.pairs import CounterfactualPairs, record_pairs
from numberline.tasks.populations import (
    all_pairs,
    cloud,
    dose_values,
    drawn_pairs,
    field_grid,
    field_values,
    operand_count,
)
from numberline.tasks.registry import concept_of
from numberline.tasks.sampling import Row, Rows, digest, ranked_tuples
from numberline.tasks.sizes import PAPER, QUICK, Sizes
from numberline.tasks.task import INSTRUCTION, Task

__all__ = [
    "CASE_ORDERS",
    "HEAD_GROUPS",
    "INSTRUCTION",
    "LIST_EXEMPLAR",
    "MAX",
    "MIN",
    "PAIR_EXEMPLAR",
    "PAPER",
    "QUICK",
    "VALUE_ORDERS",
    "Concept",
    "Counterfactual",
    "CounterfactualPairs",
    "Hand",
    "Order",
    "Row",
    "Rows",
    "Sentence",
    "Sizes",
    "Split",
    "Task",
    "Words",
    "all_pairs",
    "answer_ids",
    "answer_tokens",
    "arrange",
    "candidates",
    "cases",
    "check_distinct_answers",
    "clean_operands",
    "cloud",
    "concept_of",
    "corrupted_operands",
    "counterfactual",
    "deal",
    "deal_examples",
    "digest",
    "dose_values",
    "drawn_pairs",
    "encode",
    "field_grid",
    "field_values",
    "from_csv",
    "operand_count",
    "ordered",
    "perturb",
    "pool",
    "ranked_tuples",
    "read_counterfactuals",
    "record_pairs",
    "to_csv",
    "write_counterfactuals",
]
