"""What stands in for recordings and for memory while experiments are rehearsed: made-up numbers, real sizes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.memory import SHARE, Memory
from numberline.engine.recording import Recording
from numberline.engine.sites import Activation, Half
from numberline.models.network import Network
from numberline.runs.costs import Call, Part

NARROW = 64
"""The width of made-up activations."""
NEURONS = 1536
"""The most neurons of a made-up block: enough for every number of neurons that is frozen together."""


@dataclass(eq=False)
class MadeUp(Recording):
    """A recording that was not made. It holds nothing, and knows what it would hold."""

    held: int = 0
    corrupted: bool = False
    """Whether it begins as another one does: its answer is another's."""
    computed: Callable[[Call], object] = lambda _: None
    """Is told of what was not kept and is computed when it is asked for."""

    def raw(
        self,
        activation: Activation,
        layer: int,
        tokens: tuple[int, ...],
        examples: slice = slice(None),
    ) -> Float[Tensor, "examples tokens d"]:
        """Random numbers in place of an activation."""
        rows = len(range(len(self))[examples])
        if not activation.always:
            self.computed(Call(half_of(activation), rows, tokens[-1] + 1 - tokens[0], tokens[0]))
        return made_up(self.network, activation, rows, len(tokens), self.length, (layer, *tokens, self.corrupted))

    def keeps(self, activation: Activation, layer: int, start: int) -> bool:  # noqa: ARG002  the engine's question
        """What is always kept is."""
        return activation.always

    def part(self, rows: slice) -> "MadeUp":
        """Some of the examples; what is held is the whole's."""
        return replace(self, prompts=self.prompts[rows], held=0)

    def forget(self, after: int) -> None:
        """Hold less."""
        self.held = self.held * min(after + 1, self.network.n_layers) // self.network.n_layers


def half_of(activation: Activation) -> Part:
    """The half block that computes an activation."""
    return "mlp" if activation.half is Half.MLP else "attention"


def made_up(
    network: Network, activation: Activation, rows: int, tokens: int, length: int, where: tuple[int, ...]
) -> Float[Tensor, "rows tokens d"]:
    """Random numbers of an activation's shape: the same at the same place, so that cases have neurons in common."""
    widths = {"neurons": network.d_mlp, "z": network.n_heads * network.head_dim, "pattern": network.n_heads * length}
    seeded = torch.Generator().manual_seed(hash(where))  # of numbers: the same in every process
    return torch.rand(rows, tokens, widths.get(activation.name, network.d_model), generator=seeded)


@dataclass
class VirtualMemory(Memory):
    """The real rules on a machine that is not here: of `free` bytes when given, else as on this CPU."""

    free: Callable[[], int] | None = None

    def _fit(self, cpu: int, each: int) -> int:
        budget = cpu if self.free is None else int(max(self.free(), 0) * SHARE)
        return max(budget // each // self.shrink, 1)
