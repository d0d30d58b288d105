"""nnsight: edits are written inside a trace; `skip` replaces a block's output without running it.

So a run starts after the edited block: the blocks up to it are skipped, with the recorded residual, patched. All
question tokens of a layer (and all heads) are one batch. Keyword arguments reach the model: logits_to_keep.

    nnsight         what the tool offers
    nnsight-prefix  the same with the shared tokens in a Hugging Face cache that the user makes, copies for each batch
                    and passes in: skip and cache together are the nearest to the engine's law that one gets by hand
"""

from pathlib import Path
from typing import Any

import torch
from nnsight import TransformersModel, save
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache

from workloads import Case, Examples, fit, pld, swapped


class NNsight:
    """A traced model."""

    def __init__(self, folder: Path, cached: bool) -> None:
        network: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval().requires_grad_(False)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model: Any = TransformersModel(network, tokenizer=tokenizer, task="text-generation")
        self.config, self.blocks = network.config, self.model.model.layers
        self.network, self.cached = network, cached
        self.first = 0  # the position of the first token that runs
        self.prefix: Any = None

    def start(self, examples: Examples) -> None:
        """With a cache: run the shared tokens once."""
        if self.cached:
            self.first = examples.prefix
            ids = next(iter(examples.cases.values())).clean[:1, : examples.prefix]
            with torch.no_grad():
                self.prefix = self.network(ids, use_cache=True, logits_to_keep=1).past_key_values

    def inputs(self, ids: Tensor) -> dict[str, Any]:
        """What the model is called with."""
        inputs: dict[str, Any] = {"input_ids": ids[:, self.first :], "logits_to_keep": 1, "use_cache": self.cached}
        if self.cached:
            copies = [(layer.keys, layer.values) for layer in self.prefix.layers]
            copies = [(k.expand(len(ids), -1, -1, -1), v.expand(len(ids), -1, -1, -1)) for k, v in copies]
            inputs["past_key_values"] = DynamicCache(copies)
        return inputs

    def residuals(self, ids: Tensor) -> list[Tensor]:
        """An un-edited run: the residual leaving every block."""
        with torch.no_grad(), self.model.trace(**self.inputs(ids)):
            kept = save([block.output for block in self.blocks])
        return list(kept)

    def resume(self, layer: int, residual: Tensor, ids: Tensor, answers: Tensor) -> Tensor:
        """The logits of the answer tokens, running only the blocks after a residual."""
        with self.model.trace(**self.inputs(ids)):
            for block in self.blocks[: layer + 1]:
                block.skip(residual)
            logits = self.model.lm_head.output.save()
        return logits[:, -1].gather(1, answers)  # type: ignore[no-any-return]

    @torch.no_grad()
    def trace(self, examples: Examples) -> Tensor:
        """One batch for each layer: all tokens."""
        self.start(examples)
        return torch.stack([self._trace(examples, case) for case in examples.cases.values()])

    def _trace(self, examples: Examples, case: Case) -> Tensor:
        clean, corrupted = self.residuals(case.clean), self.residuals(case.corrupted)
        n, tokens = len(case.clean), [token - self.first for token in examples.tokens]
        ids, answers = case.corrupted.repeat(len(tokens), 1), case.answers.repeat(len(tokens), 1)
        rows = []
        for layer in range(len(clean)):
            residual = corrupted[layer].repeat(len(tokens), 1, 1).unflatten(0, (len(tokens), n))
            for column, token in enumerate(tokens):
                residual[column, :, token] = clean[layer][:, token]
            rows.append(pld(self.resume(layer, residual.flatten(0, 1), ids, answers)).reshape(len(tokens), n))
        return torch.stack(rows)

    def das(self, examples: Examples) -> Tensor:
        """A trace for each step; the gradient flows out of it."""
        self.start(examples)
        case, layer, t = examples.cases["y1"], examples.layer, examples.y1 - self.first
        clean, corrupted = self.residuals(case.clean)[layer], self.residuals(case.corrupted)[layer]

        def chosen(Q: Tensor) -> Tensor:
            residual = corrupted.clone()
            residual[:, t] = swapped(residual[:, t], clean[:, t], Q)
            return self.resume(layer, residual, case.corrupted, case.answers)

        return fit(chosen, examples)

    def attribution(self, examples: Examples) -> Tensor:
        """The blocks before the patched one are skipped."""
        self.start(examples)
        return torch.stack([self._attribution(examples, case) for case in examples.cases.values()])

    def _attribution(self, examples: Examples, case: Case) -> Tensor:
        layer, t, blocks = examples.layer, examples.y2 - self.first, self.blocks
        with torch.no_grad(), self.model.trace(**self.inputs(case.clean)) as tracer:
            clean = blocks[layer].post_attention_layernorm.input.save()
            tracer.stop()
        with torch.no_grad(), self.model.trace(**self.inputs(case.corrupted)) as tracer:
            residual = blocks[layer - 1].output.save()
            tracer.stop()
        leaves = [torch.zeros(len(case.clean), self.config.intermediate_size, requires_grad=True) for _ in range(2)]
        with self.model.trace(**self.inputs(case.corrupted)):
            for block in blocks[:layer]:
                block.skip(residual)
            blocks[layer].post_attention_layernorm.input[:, t] = clean[:, t]  # in place: also the residual stream
            for block, leaf in zip(blocks[layer : layer + 2], leaves, strict=True):
                neurons = block.mlp.down_proj.input.clone()
                neurons[:, t] = neurons[:, t] + leaf
                block.mlp.down_proj.input = neurons
            logits = self.model.lm_head.output.save()
        score = pld(logits[:, -1].gather(1, case.answers)).sum()
        return torch.stack(torch.autograd.grad(score, leaves))

    @torch.no_grad()
    def heads(self, examples: Examples) -> Tensor:
        """One batch for all heads of the layer; the blocks before it are skipped."""
        self.start(examples)
        return torch.stack([self._heads(examples, case) for case in examples.cases.values()])

    def _heads(self, examples: Examples, case: Case) -> Tensor:
        layer, t, blocks, n = examples.layer, examples.y2 - self.first, self.blocks, len(case.clean)
        count = self.config.num_attention_heads
        with self.model.trace(**self.inputs(case.clean)) as tracer:
            clean = blocks[layer].self_attn.o_proj.input.save()
            tracer.stop()
        with self.model.trace(**self.inputs(case.corrupted)) as tracer:
            entering = blocks[layer - 1].output.save()
            tracer.stop()
        ids, answers = case.corrupted.repeat(count, 1), case.answers.repeat(count, 1)
        residual, width = entering.repeat(count, 1, 1), clean.shape[-1] // count
        with self.model.trace(**self.inputs(ids)):
            for block in blocks[:layer]:
                block.skip(residual)
            z = blocks[layer].self_attn.o_proj.input.clone()
            for head in range(count):
                mine = slice(head * width, (head + 1) * width)
                z[head * n : (head + 1) * n, t, mine] = clean[:, t, mine]
            blocks[layer].self_attn.o_proj.input = z
            logits = self.model.lm_head.output.save()
        return pld(logits[:, -1].gather(1, answers)).reshape(count, n)


def load(folder: Path, variant: str) -> NNsight:
    """The model of a folder, without or with a cached prefix."""
    return NNsight(folder, cached=variant == "prefix")
