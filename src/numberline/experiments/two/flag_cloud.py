"""What do many clean prompts say of a flag? The components along it: whether they hold the winner, or a number.

The first half of the cloud takes part in the choice of the flag's layer, and the second half judges (two/flag.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.engine.subspace import Subspace
from numberline.experiments.common.experiment import Context
from numberline.experiments.two.patches import two_numbers
from numberline.methods.clouds import read
from numberline.methods.intervals import wilson
from numberline.methods.outcome import follows
from numberline.tasks.counterfactuals import Hand
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud
from numberline.tasks.sampling import Row
from numberline.tasks.scale import scaled

Flags = Mapping[str, Subspace]
"""One direction by the case it was fitted in."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The cloud at y2's position: its numbers, on their concept's scale too, whether y2 wins, the states by layer."""

    operands: Sequence[Row]
    values: Float[Tensor, "n 2"]
    wins: Bool[Tensor, " n"]
    states: Mapping[int, Float[Tensor, "n d"]]

    @classmethod
    def of(cls, lab: Lab, context: Context, layers: Sequence[int]) -> "Seen":
        """Read the cloud leaving some layers."""
        task = two_numbers(context)
        operands = cloud(task, context.sizes.shared_cloud, context.seed)
        states = read(lab, encode(lab.tokenizer, task, operands), [resid(layer).at("y2") for layer in layers])
        wins = torch.tensor([task.answer(row) == row[1] for row in operands])
        values = scaled(task.concept, torch.tensor(operands))
        return cls(operands, values, wins, dict(zip(layers, states, strict=True)))

    @property
    def halves(self) -> dict[Hand, slice]:
        """The prompts that choose, and those that judge."""
        middle = len(self.operands) // 2
        return {"choosing": slice(0, middle), "evaluation": slice(middle, None)}

    def winner_rows(self, fitted: Mapping[int, Flags]) -> list[dict[str, Any]]:
        """What the winner and what both numbers explain of each direction's component, in each half."""
        rows = []
        for layer, flags in fitted.items():
            for case, flag in flags.items():
                along = flag.coordinates(self.states[layer])[:, 0]
                for hand, half in self.halves.items():
                    found = follows(along[half], self.wins[half], self.values[half])
                    about = {"layer": layer, "fitted": case, "examples": hand}
                    rows += [{**about, "of": of, **estimate.columns} for of, estimate in found.items()]
        return rows

    def project(self, layer: int, flags: Flags) -> tuple[dict[str, Subspace], dict[str, list[dict[str, Any]]]]:
        """The flags signed by who wins in the cloud, and the cloud's components along them."""
        signed, along = sign_flags(flags, self.states[layer], self.wins)
        listed = {f"flag_{case}": values.tolist() for case, values in along.items()}
        rows = [
            {"y1": y1, "y2": y2, **{name: values[i] for name, values in listed.items()}}
            for i, (y1, y2) in enumerate(self.operands)
        ]
        half = self.halves["evaluation"]
        told = [separation(case, values[half], self.wins[half]) for case, values in along.items()]
        return signed, {"cloud": rows, "separation": told}


def sign_flags(
    flags: Flags, states: Float[Tensor, "n d"], wins: Bool[Tensor, " n"]
) -> tuple[dict[str, Subspace], dict[str, Float[Tensor, " n"]]]:
    """Flags signed so that the component is larger where the number wins, and the components."""
    signed = {
        case: Subspace(flag.basis.cpu(), flag.provenance).signed(states, wins.float()) for case, flag in flags.items()
    }
    return signed, {case: flag.coordinates(states)[:, 0] for case, flag in signed.items()}


def separation(fitted: str, along: Float[Tensor, " n"], wins: Bool[Tensor, " n"]) -> dict[str, Any]:
    """How well the component tells the winner: a threshold half-way between the means, and the area under the ROC."""
    middle = (along[wins].mean() + along[~wins].mean()) / 2
    right = (along > middle) == wins
    ranks = along.double().argsort().argsort().double() + 1
    positives, negatives = int(wins.sum()), int((~wins).sum())
    auc = (float(ranks[wins].sum()) - positives * (positives + 1) / 2) / (positives * negatives)
    gap = along[wins].mean() - along[~wins].mean()
    spread = ((along[wins].var() + along[~wins].var()) / 2).sqrt()
    return {"fitted": fitted, **wilson(right.tolist()).columns, "auc": auc, "d_prime": float(gap / spread)}
