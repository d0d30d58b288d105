"""How does an array of a model become one of a result? As numpy, whoever made it; torch is not imported for it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def as_array(values: Any) -> Array:
    """A copy as a numpy array, contiguous; of a torch tensor too."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":  # which numpy does not have; single precision holds all of it
            values = values.float()
        values = values.numpy()
    return np.array(values, order="C")
