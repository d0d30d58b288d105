"""Where is a part of a model that is spread over devices, and what are its weights, when they are not in memory?

accelerate keeps what does not fit on a slower device or on disk, and brings a module's weights to the device it runs on
for as long as it runs. Asked for outside of that, a weight that is kept away is brought, copied, and sent back.
"""

from typing import Any

import torch
from accelerate.utils import align_module_device
from torch import Tensor, nn


def home(module: nn.Module) -> torch.device:
    """The device that a module runs on, whether or not its weights are there now."""
    hook: Any = getattr(module, "_hf_hook", None)
    for each in getattr(hook, "hooks", (hook,)):
        device = getattr(each, "execution_device", None)
        if device is not None:
            return torch.device(device)
    return next((parameter.device for parameter in module.parameters()), torch.device("cpu"))


def weight(module: nn.Module) -> Tensor:
    """A module's weight, which torch's types do not promise to be a tensor."""
    found = _present(module, "weight")
    assert found is not None
    return found


def bias(module: nn.Module) -> Tensor | None:
    """A module's bias, if it has one."""
    return _present(module, "bias")


def _present(module: nn.Module, name: str) -> Tensor | None:
    found = getattr(module, name, None)
    if isinstance(found, Tensor) and found.is_meta:
        with align_module_device(module):
            brought = getattr(module, name)
            return brought.detach().clone() if isinstance(brought, Tensor) else None
    return found if isinstance(found, Tensor) else None
