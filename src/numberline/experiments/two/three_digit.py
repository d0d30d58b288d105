"""Is it the same with three digits? The analysis of two/number.py for operands from 100 to 999.

As k2.number, at the same layer, with counterfactuals and a cloud of three-digit numbers and two initialisations of u.
Components are averaged in bins of 25 instead of per value.

Tables and tensors: those of k2.number; in `components`, `value` is the middle of the bin; `values_…`, `means_…` bins.
Subspaces: u_three_digit, u_second_three_digit, v2_three_digit.
"""

from numberline.engine.lab import Lab
from numberline.experiments.common import roles
from numberline.experiments.common.experiment import Context, MissingError, Result, experiment
from numberline.experiments.two.number import analyse
from numberline.tasks.task import Task

BIN = 25


@experiment("k2.three_digit", needs=("k2.trace",))
def three_digit(lab: Lab, context: Context) -> Result:
    """Does the model hold three-digit {nouns} along a direction too?"""
    if context.concept.digits is None:
        raise MissingError(f"{context.concept.words.nouns} have no digits, so that there are none of three")
    layer = roles.require(context, "number_layer").layer
    return analyse(lab, context, Task(context.concept, digits=3), layer, BIN, "_three_digit")
