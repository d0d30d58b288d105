"""The oracle: a plain full forward pass with torch hooks, as simple as it can be written.

It knows nothing of the engine: it has its own table of module names (`architectures.py`), runs every token of every
layer every time, and an edit is a Python function on the activation at some tokens. Slow and obviously right.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from architectures import LLAMA, NAMES
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D


@dataclass
class OracleEdit:
    """Change the activation at (kind, layer) and `tokens` by a function of it. `index`: the head, or neuron ids."""

    kind: str
    layer: int
    tokens: list[int] | None  # None: every token
    change: Callable[[Tensor], Tensor]
    index: tuple[int, ...] = ()


class Oracle:
    KINDS = ("head", "attn", "mid", "neurons", "mlp", "resid")

    def __init__(self, model) -> None:
        # More kinds: what goes into, or comes out of, one module of every layer.
        self.others: dict[str, tuple[list[nn.Module], bool]] = {}
        self.model = model
        self.names = NAMES.get(model.config.model_type, LLAMA)
        self.blocks = model.get_submodule(self.names.blocks)
        # What a sub-block gives is multiplied by this before it is added (Granite).
        self.scale = getattr(model.config, "residual_multiplier", 1.0)

    def head(self, layer: int, head: int, z: Tensor) -> Tensor:
        """z_h W_O for the concatenated heads z."""
        module = self.blocks[layer].get_submodule(self.names.attention_out)
        weight = module.weight if isinstance(module, Conv1D) else module.weight.T
        width = weight.shape[0] // self.model.config.num_attention_heads
        return z[..., head * width : (head + 1) * width] @ weight[head * width : (head + 1) * width]

    def logits(self, ids: Tensor, edits: list[OracleEdit] = (), found: dict | None = None) -> Tensor:
        """Logits at the last token. With `found`, every activation (after the edits) is put there."""
        with ExitStack() as stack:
            for layer, block in enumerate(self.blocks):
                self._hook(stack, layer, block, list(edits), found)
            return self.model(ids, use_cache=False).logits[:, -1]

    def decode(self, ids: Tensor, edits: list[OracleEdit], steps: int) -> Tensor:
        for _ in range(steps):
            ids = torch.cat([ids, self.logits(ids, edits).argmax(-1, keepdim=True)], 1)
        return ids[:, -steps:]

    def _hook(self, stack, layer, block, edits, found) -> None:
        entered, heads = {}, {}

        def edited(kind, x):
            for edit in edits:
                if edit.kind == kind and edit.layer == layer:
                    tokens = list(range(x.shape[1])) if edit.tokens is None else edit.tokens
                    x = x.clone()
                    if kind == "neurons" and edit.index:
                        where = torch.tensor(tokens)[:, None], torch.tensor(edit.index)[None]
                        x[:, where[0], where[1]] = edit.change(x[:, where[0], where[1]])
                    else:
                        x[:, tokens] = edit.change(x[:, tokens])
            if found is not None:
                found[kind, layer] = x
            return x

        def enter(_, args):
            x = args[0]
            if layer == 0:
                for edit in edits:
                    if edit.layer == -1:
                        x = x.clone()
                        x[:, edit.tokens] = edit.change(x[:, edit.tokens])
                if found is not None:
                    found["resid", -1] = x
            entered["x"] = x
            return (x, *args[1:])

        def before_out(_, args):
            heads["z"] = args[0]
            if found is not None:
                found["z", layer] = args[0]

        def after_out(_, __, out):
            contributions = {}
            for edit in edits:
                if edit.kind == "head" and edit.layer == layer:
                    head = edit.index[0]
                    now = contributions.get(head, self.head(layer, head, heads["z"]))
                    new = now.clone()
                    new[:, edit.tokens] = edit.change(now[:, edit.tokens])
                    contributions[head] = new
                    out = out + (new - now)
            return out

        def after_attention(_, __, out):
            write = edited("attn", out * self.scale)
            return (edited("mid", entered["x"] + write) - entered["x"]) / self.scale

        def after_mlp(_, __, out):
            return edited("mlp", out * self.scale) / self.scale

        def leave(_, __, out):
            if isinstance(out, tuple):
                return (edited("resid", out[0]), *out[1:])
            return edited("resid", out)

        out_module = block.get_submodule(self.names.attention_out)
        handles = [
            block.register_forward_pre_hook(enter),
            out_module.register_forward_pre_hook(before_out),
            out_module.register_forward_hook(after_out),
            block.get_submodule(self.names.attention_write).register_forward_hook(after_attention),
            block.get_submodule(self.names.mlp_down).register_forward_pre_hook(
                lambda _, args: (edited("neurons", args[0]),)
            ),
            block.get_submodule(self.names.mlp_write).register_forward_hook(after_mlp),
            block.register_forward_hook(leave),
        ]
        for kind, (modules, output) in self.others.items():
            if output:
                hook = modules[layer].register_forward_hook(lambda _, __, out, kind=kind: edited(kind, out))
            else:
                hook = modules[layer].register_forward_pre_hook(lambda _, args, kind=kind: (edited(kind, args[0]),))
            handles.append(hook)
        for handle in handles:
            stack.callback(handle.remove)
