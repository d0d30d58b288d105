"""TransformerLens: named hook points; all question tokens of a layer (and all heads) are one batch.

In version 4, where it wraps the Hugging Face model, `start_at_layer` runs the earlier blocks all the same and drops
what they give, so it saves nothing and is not used; `stop_at_layer` ends the un-edited runs early. Keyword arguments
reach the model: logits_to_keep. (In version 3 start_at_layer does save work: hookedtransformer.py.)

    transformerlens         full runs
    transformerlens-prefix  the same with the shared tokens in a cache that the user makes, copies for each batch, and
                            passes in as `past_key_values`
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformer_lens import TransformerBridge
from transformers import DynamicCache

from workloads import Case, Examples, fit, pld, swapped

Hook = tuple[str, Callable[..., Any]]


class TransformerLens:
    """A bridge to the model."""

    def __init__(self, folder: Path, cached: bool) -> None:
        self.model: Any = TransformerBridge.boot_transformers(str(folder), device="cpu", dtype=torch.float32)
        self.model.requires_grad_(False)
        self.cached = cached
        self.first = 0  # the position of the first token that runs
        self.prefix: Any = None

    def start(self, examples: Examples) -> None:
        """With a cache: run the shared tokens once."""
        if self.cached:
            self.first = examples.prefix
            ids = next(iter(examples.cases.values())).clean[:1, : examples.prefix]
            with torch.no_grad():
                _, self.prefix = self.model(ids, return_type="logits_and_cache", use_cache=True, logits_to_keep=1)

    def options(self, rows: int) -> dict[str, Any]:
        """What else the model is called with."""
        if not self.cached:
            return {"logits_to_keep": 1}
        copies = [(layer.keys, layer.values) for layer in self.prefix.layers]
        copies = [(k.expand(rows, -1, -1, -1), v.expand(rows, -1, -1, -1)) for k, v in copies]
        return {"logits_to_keep": 1, "past_key_values": DynamicCache(copies)}

    def cache(self, ids: Tensor, names: list[str], stop: int | None = None) -> dict[str, Tensor]:
        """Activations of an un-edited run."""
        with torch.no_grad():
            _, found = self.model.run_with_cache(
                ids[:, self.first :], names_filter=names, stop_at_layer=stop, **self.options(len(ids))
            )
        return {name: found[name] for name in names}

    def chosen(self, ids: Tensor, answers: Tensor, hooks: list[Hook]) -> Tensor:
        """The logits of the answer tokens, with hooks."""
        logits = self.model.run_with_hooks(ids[:, self.first :], fwd_hooks=hooks, **self.options(len(ids)))
        return logits[:, -1].gather(1, answers)  # type: ignore[no-any-return]

    @torch.no_grad()
    def trace(self, examples: Examples) -> Tensor:
        """One batch for each layer: all tokens."""
        self.start(examples)
        return torch.stack([self._trace(examples, case) for case in examples.cases.values()])

    def _trace(self, examples: Examples, case: Case) -> Tensor:
        names = [f"blocks.{layer}.hook_resid_post" for layer in range(self.model.cfg.n_layers)]
        clean = self.cache(case.clean, names)
        n, tokens = len(case.clean), [token - self.first for token in examples.tokens]
        ids, answers = case.corrupted.repeat(len(tokens), 1), case.answers.repeat(len(tokens), 1)
        rows = []
        for name in names:

            def patch(x: Tensor, hook: Any, source: Tensor = clean[name]) -> Tensor:  # noqa: ARG001
                for column, token in enumerate(tokens):
                    x[column * n : (column + 1) * n, token] = source[:, token]
                return x

            rows.append(pld(self.chosen(ids, answers, [(name, patch)])).reshape(len(tokens), n))
        return torch.stack(rows)

    def das(self, examples: Examples) -> Tensor:
        """A hooked run for each step."""
        self.start(examples)
        case, t, name = examples.cases["y1"], examples.y1 - self.first, f"blocks.{examples.layer}.hook_resid_post"
        clean = self.cache(case.clean, [name], examples.layer + 1)[name][:, t]

        def chosen(Q: Tensor) -> Tensor:
            def patch(x: Tensor, hook: Any) -> Tensor:  # noqa: ARG001
                x = x.clone()
                x[:, t] = swapped(x[:, t], clean, Q)
                return x

            return self.chosen(case.corrupted, case.answers, [(name, patch)])

        return fit(chosen, examples)

    def attribution(self, examples: Examples) -> Tensor:
        """One forward and backward pass for each case."""
        self.start(examples)
        return torch.stack([self._attribution(examples, case) for case in examples.cases.values()])

    def _attribution(self, examples: Examples, case: Case) -> Tensor:
        layer, t = examples.layer, examples.y2 - self.first
        name = f"blocks.{layer}.hook_resid_mid"
        clean = self.cache(case.clean, [name], layer + 1)[name][:, t]

        def patch(x: Tensor, hook: Any) -> None:  # noqa: ARG001
            x[:, t] = clean  # in place: a returned tensor would reach the norm but not the residual stream

        def nudged(nothing: Tensor) -> Callable[..., Tensor]:
            def nudge(x: Tensor, hook: Any) -> Tensor:  # noqa: ARG001
                x = x.clone()
                x[:, t] = x[:, t] + nothing
                return x

            return nudge

        leaves = [torch.zeros(len(case.clean), self.model.cfg.d_mlp, requires_grad=True) for _ in range(2)]
        hooks: list[Hook] = [(f"blocks.{layer + i}.mlp.hook_post", nudged(leaf)) for i, leaf in enumerate(leaves)]
        score = pld(self.chosen(case.corrupted, case.answers, [(name, patch), *hooks])).sum()
        return torch.stack(torch.autograd.grad(score, leaves))

    @torch.no_grad()
    def heads(self, examples: Examples) -> Tensor:
        """One batch for all heads of the layer."""
        self.start(examples)
        return torch.stack([self._heads(examples, case) for case in examples.cases.values()])

    def _heads(self, examples: Examples, case: Case) -> Tensor:
        t, name = examples.y2 - self.first, f"blocks.{examples.layer}.attn.hook_z"
        clean = self.cache(case.clean, [name], examples.layer + 1)[name][:, t]
        n, count, width = len(case.clean), self.model.cfg.n_heads, self.model.cfg.d_head

        def patch(z: Tensor, hook: Any) -> Tensor:  # noqa: ARG001
            flat, source = z.flatten(2).clone(), clean.flatten(1)
            for head in range(count):
                mine = slice(head * width, (head + 1) * width)
                flat[head * n : (head + 1) * n, t, mine] = source[:, mine]
            return flat.view_as(z)

        ids, answers = case.corrupted.repeat(count, 1), case.answers.repeat(count, 1)
        return pld(self.chosen(ids, answers, [(name, patch)])).reshape(count, n)


def load(folder: Path, variant: str) -> TransformerLens:
    """The model of a folder, without or with a cached prefix."""
    return TransformerLens(folder, cached=variant == "prefix")
