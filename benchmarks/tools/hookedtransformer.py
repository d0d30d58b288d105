"""TransformerLens 3, the last version with HookedTransformer, its own implementation of the model.

Here `start_at_layer` takes the residual that enters a block and runs only from there, and `stop_at_layer` gives the
residual back, so that the unembedding is applied at the last token alone. All question tokens of a layer (and all
heads) are one batch.

    hookedtransformer         start_at_layer
    hookedtransformer-prefix  the same with the shared tokens in a frozen key/value cache, one copy for each row: the
                              library's own way to run many inputs with one prefix
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformer_lens import HookedTransformer, HookedTransformerConfig, TransformerLensKeyValueCache
from transformer_lens.pretrained.weight_conversions import convert_qwen2_weights
from transformers import AutoModelForCausalLM

from workloads import Case, Examples, fit, pld, swapped

Hook = tuple[str, Callable[..., Any]]


class Hooked:
    """A HookedTransformer with a Hugging Face model's weights, as they are (nothing folded or centred)."""

    def __init__(self, folder: Path, cached: bool) -> None:
        network: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        config = network.config
        width = config.hidden_size // config.num_attention_heads
        self.cfg: Any = HookedTransformerConfig(
            n_layers=config.num_hidden_layers,
            d_model=config.hidden_size,
            n_ctx=config.max_position_embeddings,
            d_head=width,
            n_heads=config.num_attention_heads,
            n_key_value_heads=config.num_key_value_heads,
            d_mlp=config.intermediate_size,
            act_fn=config.hidden_act,
            d_vocab=config.vocab_size,
            eps=config.rms_norm_eps,
            normalization_type="RMS",
            final_rms=True,
            gated_mlp=True,
            positional_embedding_type="rotary",
            rotary_base=int(config.rope_parameters["rope_theta"]),
            rotary_dim=width,
            init_weights=False,
            device="cpu",
            dtype=torch.float32,
        )
        self.model: Any = HookedTransformer(self.cfg)
        self.model.load_state_dict(convert_qwen2_weights(network, self.cfg), strict=False)
        self.model.eval().requires_grad_(False)
        self.cached = cached
        self.first = 0  # the position of the first token that runs
        self.prefix: Any = None

    def start(self, examples: Examples) -> None:
        """With a cache: run the shared tokens once."""
        if self.cached:
            self.first = examples.prefix
            ids = next(iter(examples.cases.values())).clean[:1, : examples.prefix]
            self.prefix = TransformerLensKeyValueCache.init_cache(self.cfg, "cpu", 1)
            with torch.no_grad():
                self.model(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    past_kv_cache=self.prefix,
                    stop_at_layer=self.cfg.n_layers,
                )

    def options(self, rows: int) -> dict[str, Any]:
        """The frozen prefix, for as many rows."""
        if not self.cached:
            return {}
        cache = TransformerLensKeyValueCache.init_cache(self.cfg, "cpu", rows)
        for entry, shared in zip(cache.entries, self.prefix.entries, strict=True):
            entry.past_keys = shared.past_keys.expand(rows, -1, -1, -1)
            entry.past_values = shared.past_values.expand(rows, -1, -1, -1)
        cache.previous_attention_mask = self.prefix.previous_attention_mask.expand(rows, -1)
        cache.freeze()
        return {"past_kv_cache": cache}

    def cache(self, ids: Tensor, names: list[str], stop: int) -> list[Tensor]:
        """Activations of an un-edited run of the blocks before `stop`."""
        ids, more = ids[:, self.first :], self.options(len(ids))
        if self.cached:
            more["attention_mask"] = torch.ones_like(ids)
        with torch.no_grad():
            _, found = self.model.run_with_cache(ids, names_filter=names, stop_at_layer=stop, **more)
        return [found[name] for name in names]

    def resume(self, layer: int, residual: Tensor, answers: Tensor, hooks: list[Hook]) -> Tensor:
        """The logits of the answer tokens, from the residual that enters a block on."""
        if layer < self.cfg.n_layers:
            residual = self.model.run_with_hooks(
                residual,
                start_at_layer=layer,
                stop_at_layer=self.cfg.n_layers,
                fwd_hooks=hooks,
                **self.options(len(residual)),
            )
        logits = self.model.unembed(self.model.ln_final(residual[:, -1:]))
        return logits[:, -1].gather(1, answers)  # type: ignore[no-any-return]

    @torch.no_grad()
    def trace(self, examples: Examples) -> Tensor:
        """One batch for each layer: all tokens."""
        self.start(examples)
        return torch.stack([self._trace(examples, case) for case in examples.cases.values()])

    def _trace(self, examples: Examples, case: Case) -> Tensor:
        names = [f"blocks.{layer}.hook_resid_post" for layer in range(self.cfg.n_layers)]
        clean, corrupted = (self.cache(ids, names, self.cfg.n_layers) for ids in (case.clean, case.corrupted))
        n, tokens = len(case.clean), [token - self.first for token in examples.tokens]
        rows = []
        for layer in range(self.cfg.n_layers):
            residual = corrupted[layer].repeat(len(tokens), 1, 1).unflatten(0, (len(tokens), n))
            for column, token in enumerate(tokens):
                residual[column, :, token] = clean[layer][:, token]
            found = self.resume(layer + 1, residual.flatten(0, 1), case.answers.repeat(len(tokens), 1), [])
            rows.append(pld(found).reshape(len(tokens), n))
        return torch.stack(rows)

    def das(self, examples: Examples) -> Tensor:
        """A differentiable run from the edited block on for each step."""
        self.start(examples)
        case, layer, t = examples.cases["y1"], examples.layer, examples.y1 - self.first
        name = [f"blocks.{layer}.hook_resid_post"]
        (clean,), (corrupted,) = (self.cache(ids, name, layer + 1) for ids in (case.clean, case.corrupted))

        def chosen(Q: Tensor) -> Tensor:
            residual = corrupted.clone()
            residual[:, t] = swapped(residual[:, t], clean[:, t], Q)
            return self.resume(layer + 1, residual, case.answers, [])

        return fit(chosen, examples)

    def attribution(self, examples: Examples) -> Tensor:
        """One forward and backward pass for each case, from the patched block on."""
        self.start(examples)
        return torch.stack([self._attribution(examples, case) for case in examples.cases.values()])

    def _attribution(self, examples: Examples, case: Case) -> Tensor:
        layer, t = examples.layer, examples.y2 - self.first
        (clean,) = self.cache(case.clean, [f"blocks.{layer}.hook_resid_mid"], layer + 1)
        (entering,) = self.cache(case.corrupted, [f"blocks.{layer - 1}.hook_resid_post"], layer)

        def patch(x: Tensor, hook: Any) -> Tensor:  # noqa: ARG001
            x[:, t] = clean[:, t]
            return x

        def nudged(nothing: Tensor) -> Callable[..., Tensor]:
            def nudge(x: Tensor, hook: Any) -> Tensor:  # noqa: ARG001
                x = x.clone()
                x[:, t] = x[:, t] + nothing
                return x

            return nudge

        leaves = [torch.zeros(len(case.clean), self.cfg.d_mlp, requires_grad=True) for _ in range(2)]
        hooks: list[Hook] = [(f"blocks.{layer}.hook_resid_mid", patch)]
        hooks += [(f"blocks.{layer + i}.mlp.hook_post", nudged(leaf)) for i, leaf in enumerate(leaves)]
        score = pld(self.resume(layer, entering, case.answers, hooks)).sum()
        return torch.stack(torch.autograd.grad(score, leaves))

    @torch.no_grad()
    def heads(self, examples: Examples) -> Tensor:
        """One batch for all heads of the layer, from that layer on."""
        self.start(examples)
        return torch.stack([self._heads(examples, case) for case in examples.cases.values()])

    def _heads(self, examples: Examples, case: Case) -> Tensor:
        layer, t, n, count = examples.layer, examples.y2 - self.first, len(case.clean), self.cfg.n_heads
        (clean,) = self.cache(case.clean, [f"blocks.{layer}.attn.hook_z"], layer + 1)
        (entering,) = self.cache(case.corrupted, [f"blocks.{layer - 1}.hook_resid_post"], layer)

        def patch(z: Tensor, hook: Any) -> Tensor:  # noqa: ARG001
            for head in range(count):
                z[head * n : (head + 1) * n, t, head] = clean[:, t, head]
            return z

        found = self.resume(
            layer, entering.repeat(count, 1, 1), case.answers.repeat(count, 1), [(f"blocks.{layer}.attn.hook_z", patch)]
        )
        return pld(found).reshape(count, n)


def load(folder: Path, variant: str) -> Hooked:
    """The model of a folder, without or with a cached prefix."""
    return Hooked(folder, cached=variant == "prefix")
