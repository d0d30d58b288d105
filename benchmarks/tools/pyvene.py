"""pyvene: an intervention is declared with its component and unit, and each example of a batch has its own location.

So all question tokens of a layer (and all heads) are one batch: the base prompts repeated, each with another location.
Clean activations are collected once and passed as source representations. Every forward pass is a full one; arguments
of the model (logits_to_keep) pass through.
"""

from pathlib import Path
from typing import Any

import pyvene
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from workloads import Case, Examples, fit, pld, swapped


class AlongBasis(pyvene.TrainableIntervention, pyvene.DistributedRepresentationIntervention):  # type: ignore[misc]
    """x + QQᵀ(source − x), with the Q of the moment (pyvene's own low-rank rotation is parametrized otherwise)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.basis = torch.empty(0)

    def forward(self, base: Tensor, source: Tensor, subspaces: Any = None, **_: Any) -> Tensor:  # noqa: ARG002
        """The interchange."""
        return swapped(base, source, self.basis)


class Nudge(pyvene.ConstantSourceIntervention, pyvene.LocalistRepresentationIntervention):  # type: ignore[misc]
    """Adds a zero that has a gradient."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.nothing = torch.empty(0)

    def forward(self, base: Tensor, source: Any = None, subspaces: Any = None, **_: Any) -> Tensor:  # noqa: ARG002
        """The activation, unchanged."""
        return base + self.nothing[:, None]


class Pyvene:
    """A model and the interventions made on it."""

    def __init__(self, folder: Path) -> None:
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        config = self.model.config
        config.head_dim = config.hidden_size // config.num_attention_heads  # pyvene asks for it, Qwen2 leaves it out
        self.layers = config.num_hidden_layers

    def intervene(self, *sites: tuple[str, str, type]) -> Any:
        """An intervenable model with interventions at (component, unit, kind)."""
        representations = [
            {"component": component, "unit": unit, "intervention_type": kind} for component, unit, kind in sites
        ]
        return pyvene.IntervenableModel(representations, model=self.model)

    def collect(self, ids: Tensor, components: list[str]) -> list[Tensor]:
        """Un-edited activations, at every token."""
        model = self.intervene(*((component, "pos", pyvene.CollectIntervention) for component in components))
        everywhere = {"base": list(range(ids.shape[1]))}
        (_, found), _ = model({"input_ids": ids, "logits_to_keep": 1}, unit_locations=everywhere)
        return list(found)

    def chosen(self, model: Any, ids: Tensor, answers: Tensor, where: Any, sources: dict[str, Tensor]) -> Tensor:
        """The logits of the answer tokens after the interventions."""
        _, out = model(
            {"input_ids": ids, "logits_to_keep": 1},
            unit_locations={"sources->base": (where, where)},
            source_representations=sources or None,
            use_cache=False,
        )
        return out.logits[:, -1].gather(1, answers)  # type: ignore[no-any-return]

    @torch.no_grad()
    def trace(self, examples: Examples) -> Tensor:
        """One batch for each layer: all tokens."""
        return torch.stack([self._trace(examples, case) for case in examples.cases.values()])

    def _trace(self, examples: Examples, case: Case) -> Tensor:
        clean = self.collect(case.clean, [f"model.layers[{layer}].output" for layer in range(self.layers)])
        n, tokens = len(case.clean), list(examples.tokens)
        ids, answers = case.corrupted.repeat(len(tokens), 1), case.answers.repeat(len(tokens), 1)
        where = [[[token] for token in tokens for _ in range(n)]]
        rows = []
        for layer in range(self.layers):
            model = self.intervene((f"model.layers[{layer}].output", "pos", pyvene.VanillaIntervention))
            source = clean[layer][:, tokens].transpose(0, 1).reshape(-1, 1, clean[layer].shape[-1])
            found = self.chosen(model, ids, answers, where, {model.sorted_keys[0]: source})
            rows.append(pld(found).reshape(len(tokens), n))
        return torch.stack(rows)

    def das(self, examples: Examples) -> Tensor:
        """A trainable intervention."""
        case, component = examples.cases["y1"], f"model.layers[{examples.layer}].output"
        with torch.no_grad():
            (clean,) = self.collect(case.clean, [component])
        model = self.intervene((component, "pos", AlongBasis))
        key = model.sorted_keys[0]
        source, where = clean[:, [examples.y1]], [[[examples.y1]] * len(case.clean)]

        def chosen(Q: Tensor) -> Tensor:
            model.interventions[key].basis = Q
            return self.chosen(model, case.corrupted, case.answers, where, {key: source})

        return fit(chosen, examples)

    def attribution(self, examples: Examples) -> Tensor:
        """The pre-MLP residual is the input of the norm before the MLP, which pyvene changes in place."""
        return torch.stack([self._attribution(examples, case) for case in examples.cases.values()])

    def _attribution(self, examples: Examples, case: Case) -> Tensor:
        layer, n = examples.layer, len(case.clean)
        mid = f"model.layers[{layer}].post_attention_layernorm.input"
        with torch.no_grad():
            (clean,) = self.collect(case.clean, [mid])
        neurons = [f"model.layers[{layer + i}].mlp.down_proj.input" for i in range(2)]
        model = self.intervene((mid, "pos", pyvene.VanillaIntervention), *((name, "pos", Nudge) for name in neurons))
        leaves = [torch.zeros(n, self.model.config.intermediate_size, requires_grad=True) for _ in range(2)]
        for key, leaf in zip(model.sorted_keys[1:], leaves, strict=True):
            model.interventions[key].nothing = leaf
        where = [[[examples.y2]] * n] * 3
        source = {model.sorted_keys[0]: clean[:, [examples.y2]]}
        score = pld(self.chosen(model, case.corrupted, case.answers, where, source)).sum()
        return torch.stack(torch.autograd.grad(score, leaves))

    @torch.no_grad()
    def heads(self, examples: Examples) -> Tensor:
        """One batch for all heads of the layer."""
        return torch.stack([self._heads(examples, case) for case in examples.cases.values()])

    def _heads(self, examples: Examples, case: Case) -> Tensor:
        layer, n, count = examples.layer, len(case.clean), self.model.config.num_attention_heads
        (clean,) = self.collect(case.clean, [f"model.layers[{layer}].self_attn.o_proj.input"])
        model = pyvene.IntervenableModel(
            {"layer": layer, "component": "head_attention_value_output", "unit": "h.pos"}, model=self.model
        )
        source = clean[:, examples.y2].reshape(n, count, -1).transpose(0, 1)  # heads × n × head width
        where = [[[[head] for head in range(count) for _ in range(n)], [[examples.y2]] * (n * count)]]
        ids, answers = case.corrupted.repeat(count, 1), case.answers.repeat(count, 1)
        sources = {model.sorted_keys[0]: source.reshape(n * count, 1, 1, -1)}
        return pld(self.chosen(model, ids, answers, where, sources)).reshape(count, n)


def load(folder: Path, variant: str) -> Pyvene:  # noqa: ARG001  there is one way
    """The model of a folder."""
    return Pyvene(folder)
