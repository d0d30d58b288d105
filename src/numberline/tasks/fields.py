"""Receptive fields over a task's operands: one prompt for each cell of the grid of their values."""

from collections.abc import Mapping, Sequence

from numberline.engine.lab import Lab
from numberline.engine.sites import Position
from numberline.methods.attribution import Place
from numberline.methods.fields import Fields, receptive_fields
from numberline.tasks.layout import encode
from numberline.tasks.populations import field_grid, field_values
from numberline.tasks.task import Task


def operand_fields(
    lab: Lab,
    task: Task,
    places: Sequence[Place],
    stride: int,
    position: Position,
    fixed: Mapping[str, int] | None = None,
) -> Fields:
    """The fields of neurons at a position, over all operands but those that are `fixed`."""
    fixed = fixed or {}
    prompts = encode(lab.tokenizer, task, field_grid(task, stride, fixed))
    axis, axes = field_values(task, stride), task.k - len(fixed)
    return receptive_fields(lab, prompts, places, axis, axes, position, task.concept.sign)
