"""Plain torch hooks on a Hugging Face model: every cell is one full forward pass of all examples.

    plain         written the obvious way: every token runs, and the model gives logits at every token
    plain-last    the same with logits_to_keep=1: the unembedding at the last token only
    plain-prefix  the same again with the shared tokens in Hugging Face's own key/value cache, one copy per example:
                  as far as one gets by hand without writing an engine

A batch is all examples of one cell.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, DynamicCache

from workloads import Case, Examples, fit, pld, swapped

Hook = tuple[Any, Callable[..., Any]]
"""A module and a forward hook, or a module and a function named `before…`, which is a forward pre-hook."""


class Plain:
    """A model and how it is called."""

    def __init__(self, folder: Path, last_only: bool, cached: bool) -> None:
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval().requires_grad_(False)
        self.blocks = self.model.model.layers
        self.last_only, self.cached = last_only, cached
        self.first = 0  # the position of the first token that runs
        self.prefix: Any = None

    def start(self, examples: Examples) -> None:
        """With a cache: run the shared tokens once."""
        if self.cached:
            self.first = examples.prefix
            ids = next(iter(examples.cases.values())).clean[:1, : examples.prefix]
            with torch.no_grad():
                self.prefix = self.model(ids, use_cache=True, logits_to_keep=1).past_key_values

    def chosen(self, ids: Tensor, answers: Tensor, hooks: list[Hook]) -> Tensor:
        """The logits of the answer tokens at the last token, with hooks."""
        more: dict[str, Any] = {"logits_to_keep": 1} if self.last_only else {}
        if self.cached:
            copies = [(layer.keys, layer.values) for layer in self.prefix.layers]
            copies = [(k.expand(len(ids), -1, -1, -1), v.expand(len(ids), -1, -1, -1)) for k, v in copies]
            more |= {"past_key_values": DynamicCache(copies), "use_cache": True}
        else:
            more["use_cache"] = False
        with ExitStack() as stack:
            for module, hook in hooks:
                before = hook.__name__.startswith("before")
                register = module.register_forward_pre_hook if before else module.register_forward_hook
                stack.callback(register(hook).remove)
            logits: Tensor = self.model(ids[:, self.first :], **more).logits[:, -1]
        return logits.gather(1, answers)

    def residuals(self, case: Case) -> list[Tensor]:
        """A clean run: the residual leaving every block."""
        kept: list[Tensor] = []
        self.chosen(case.clean, case.answers, [(block, lambda _, __, out: kept.append(out)) for block in self.blocks])
        return kept

    @torch.no_grad()
    def trace(self, examples: Examples) -> Tensor:
        """One forward pass for each cell."""
        self.start(examples)
        return torch.stack([self._trace(examples, case) for case in examples.cases.values()])

    def _trace(self, examples: Examples, case: Case) -> Tensor:
        clean = self.residuals(case)
        out = torch.empty(len(self.blocks), len(examples.tokens), len(case.clean))
        for layer, block in enumerate(self.blocks):
            for column, token in enumerate(examples.tokens):

                def patch(_: Any, __: Any, x: Tensor, layer: int = layer, t: int = token - self.first) -> Tensor:
                    x[:, t] = clean[layer][:, t]
                    return x

                out[layer, column] = pld(self.chosen(case.corrupted, case.answers, [(block, patch)]))
        return out

    def das(self, examples: Examples) -> Tensor:
        """One forward and backward pass for each step."""
        self.start(examples)
        case, t = examples.cases["y1"], examples.y1 - self.first
        with torch.no_grad():
            clean = self.residuals(case)[examples.layer][:, t]

        def chosen(Q: Tensor) -> Tensor:
            def patch(_: Any, __: Any, x: Tensor) -> Tensor:
                x = x.clone()
                x[:, t] = swapped(x[:, t], clean, Q)
                return x

            return self.chosen(case.corrupted, case.answers, [(self.blocks[examples.layer], patch)])

        return fit(chosen, examples)

    def attribution(self, examples: Examples) -> Tensor:
        """One forward and backward pass for each case."""
        self.start(examples)
        return torch.stack([self._attribution(examples, case) for case in examples.cases.values()])

    def _attribution(self, examples: Examples, case: Case) -> Tensor:
        layer, t = examples.layer, examples.y2 - self.first
        norm, kept = self.blocks[layer].post_attention_layernorm, {}

        def before_keep(_: Any, args: tuple[Tensor]) -> None:
            kept["mid"] = args[0][:, t].clone()

        with torch.no_grad():
            self.chosen(case.clean, case.answers, [(norm, before_keep)])

        def before_patch(_: Any, args: tuple[Tensor]) -> None:
            args[0][:, t] = kept["mid"]  # in place: the norm's input is also the residual stream

        def nudged(nothing: Tensor) -> Callable[..., Any]:
            def before_nudge(_: Any, args: tuple[Tensor]) -> tuple[Tensor]:
                x = args[0].clone()
                x[:, t] = x[:, t] + nothing
                return (x,)

            return before_nudge

        width = self.model.config.intermediate_size
        leaves = [torch.zeros(len(case.clean), width, requires_grad=True) for _ in range(2)]
        hooks: list[Hook] = [(norm, before_patch)]
        hooks += [(self.blocks[layer + i].mlp.down_proj, nudged(leaf)) for i, leaf in enumerate(leaves)]
        score = pld(self.chosen(case.corrupted, case.answers, hooks)).sum()
        return torch.stack(torch.autograd.grad(score, leaves))

    @torch.no_grad()
    def heads(self, examples: Examples) -> Tensor:
        """One forward pass for each head."""
        self.start(examples)
        return torch.stack([self._heads(examples, case) for case in examples.cases.values()])

    def _heads(self, examples: Examples, case: Case) -> Tensor:
        out_projection, t = self.blocks[examples.layer].self_attn.o_proj, examples.y2 - self.first
        count, kept = self.model.config.num_attention_heads, {}
        width = out_projection.in_features // count

        def before_keep(_: Any, args: tuple[Tensor]) -> None:
            kept["z"] = args[0][:, t].clone()

        self.chosen(case.clean, case.answers, [(out_projection, before_keep)])
        scores = []
        for head in range(count):
            mine = slice(head * width, (head + 1) * width)

            def before_patch(_: Any, args: tuple[Tensor], mine: slice = mine) -> tuple[Tensor]:
                z = args[0].clone()
                z[:, t, mine] = kept["z"][:, mine]
                return (z,)

            scores.append(pld(self.chosen(case.corrupted, case.answers, [(out_projection, before_patch)])))
        return torch.stack(scores)


def load(folder: Path, variant: str) -> Plain:
    """The obvious way, or with the last token's logits only, or also with the prefix cached."""
    return Plain(folder, last_only=variant != "", cached=variant == "prefix")
