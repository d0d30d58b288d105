"""On which scale is a component expected to be straight? The concept's: log y for whole numbers, y for listed words."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.tasks.concept import Concept


def scaled(concept: Concept, values: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Values as numbers on their concept's scale."""
    places = [concept.coordinate(value) for value in values.flatten().tolist()]
    found = torch.tensor(places, dtype=torch.float64).reshape(values.shape)
    return found.log() if concept.scale == "log" else found
