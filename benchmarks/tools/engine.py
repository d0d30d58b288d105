"""The engine: recordings are made once, and every edited run computes only what it can change."""

from pathlib import Path

import torch
from torch import Tensor

from numberline import Lab, Prompts, Read, Recording, add, head, mid, neurons, resid, swap
from numberline import load as load_lab
from workloads import Case, Examples, fit, pld


class Engine:
    """A Lab."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    def record(self, examples: Examples, case: Case, upto: int | None = None) -> tuple[Recording, Recording]:
        """Both un-edited runs, the clean one up to the layer it is read at; the shared tokens run once."""
        positions = {"y1": examples.y1, "y2": examples.y2, "last": examples.length - 1}
        clean, corrupted = (
            Prompts(("",) * len(ids), ids, positions, examples.prefix) for ids in (case.clean, case.corrupted)
        )
        second = self.lab.record(corrupted)
        return self.lab.record(clean, prefix_of=second, upto=upto), second

    def trace(self, examples: Examples) -> Tensor:
        """Every cell of a case is a condition of one sweep."""
        layers, results = self.lab.network.n_layers, []
        for case in examples.cases.values():
            clean, corrupted = self.record(examples, case)
            cells = [[swap(resid(layer).at(token), clean)] for layer in range(layers) for token in examples.tokens]
            found = self.lab.sweep(corrupted, cells, Read(logits=case.answers))
            assert found.logits is not None
            results.append(pld(found.logits).reshape(layers, len(examples.tokens), -1))
        return torch.stack(results)

    def das(self, examples: Examples) -> Tensor:
        """A differentiable run for each step."""
        case = examples.cases["y1"]
        clean, corrupted = self.record(examples, case, examples.layer)
        site, read = resid(examples.layer).at("y1"), Read(logits=case.answers)

        def chosen(Q: Tensor) -> Tensor:
            logits = self.lab.run(corrupted, [swap(site, clean, Q)], read, grad=True).logits
            assert logits is not None
            return logits

        return fit(chosen, examples)

    def attribution(self, examples: Examples) -> Tensor:
        """The gradient of a zero that is added to the neurons."""
        layer, width, results = examples.layer, self.lab.network.d_mlp, []
        for case in examples.cases.values():
            clean, corrupted = self.record(examples, case, examples.layer)
            leaves = [torch.zeros(len(case.clean), width, requires_grad=True) for _ in range(2)]
            edits = [swap(mid(layer).at("y2"), clean)]
            edits += [add(neurons(layer + i).at("y2"), leaf) for i, leaf in enumerate(leaves)]
            found = self.lab.run(corrupted, edits, Read(logits=case.answers), grad=True)
            assert found.logits is not None
            results.append(torch.stack(torch.autograd.grad(pld(found.logits).sum(), leaves)))
        return torch.stack(results)

    def heads(self, examples: Examples) -> Tensor:
        """Every head is a condition of one sweep."""
        results = []
        for case in examples.cases.values():
            clean, corrupted = self.record(examples, case, examples.layer)
            sites = [head(examples.layer, number).at("y2") for number in range(self.lab.network.n_heads)]
            found = self.lab.sweep(corrupted, [[swap(site, clean)] for site in sites], Read(logits=case.answers))
            assert found.logits is not None
            results.append(pld(found.logits))
        return torch.stack(results)


def load(folder: Path, variant: str) -> Engine:  # noqa: ARG001  there is one engine
    """The model of a folder in a Lab."""
    return Engine(load_lab(str(folder)))
