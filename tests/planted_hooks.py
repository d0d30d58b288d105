"""Plain forward passes and plain torch hooks on the planted model: the oracle of its tests."""

from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor
from transformers import AutoTokenizer, Qwen2ForCausalLM

from numberline.engine.prompts import Prompts
from numberline.models.planted import Truth, planted
from numberline.models.planted.compile import TOKENIZER
from numberline.tasks.counterfactuals import Counterfactual, perturb
from numberline.tasks.layout import encode
from numberline.tasks.sampling import ranked_tuples
from numberline.tasks.task import Task

TWO, THREE = Task(), Task(k=3)
N = 40
Site = tuple[str, int]
Change = tuple[Site, int, Tensor]  # where, at which token, what is added


@cache
def tokenizer():
    return AutoTokenizer.from_pretrained(TOKENIZER)


@cache
def model_of(variant: str | None = None, seed: int = 0, noise: float = 0.0) -> tuple[Qwen2ForCausalLM, Truth]:
    return planted(seed, noise, variant)


@cache
def examples(case: str, k: int = 2) -> tuple[tuple[Counterfactual, ...], Prompts, Prompts]:
    task = Task(k=k)
    drawn = perturb(task, ranked_tuples(task, N), case)
    clean, corrupted = [e.clean for e in drawn], [e.corrupted for e in drawn]
    return drawn, encode(tokenizer(), task, clean), encode(tokenizer(), task, corrupted)


@torch.no_grad()
def right(model: Qwen2ForCausalLM, task: Task, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Per row: whether both digits and the full stop are said, and by how many logits. The shared prefix runs once."""
    texts = [f"{task.prompt(row)}{task.answer(row)}." for row in rows]
    ids = torch.tensor(tokenizer()(texts)["input_ids"])
    shared = 28 if task.k == 2 else 34
    correct, margins = [], []
    for batch in ids.split(1000):
        cache = model(batch[:1, :shared], use_cache=True, logits_to_keep=1).past_key_values
        cache.batch_repeat_interleave(len(batch))
        logits = model(batch[:, shared:-1], past_key_values=cache, logits_to_keep=3).logits
        wanted = batch[:, -3:, None]
        best_other = logits.scatter(-1, wanted, -torch.inf).amax(-1)
        margins.append((logits.gather(-1, wanted)[..., 0] - best_other).amin(-1))
        correct.append(margins[-1] > 0)
    return torch.cat(correct), torch.cat(margins)


def part(model: Qwen2ForCausalLM, site: Site) -> torch.nn.Module:
    layer = model.model.layers[site[1]]
    return {
        "resid": layer,
        "mid": layer.post_attention_layernorm,
        "attn": layer.self_attn,
        "heads": layer.self_attn.o_proj,
        "neurons": layer.mlp.down_proj,
    }[site[0]]


@torch.no_grad()
def states(model: Qwen2ForCausalLM, ids: Tensor, site: Site, token: int) -> Tensor:
    """What is at a site and a token: the block's output, or what enters the MLP's norm, W_O or W_down."""
    kept: list[Tensor] = []
    if site[0] == "resid":
        hook = part(model, site).register_forward_hook(lambda _m, _i, out: kept.append(first_of(out)[:, token].clone()))
    else:
        hook = part(model, site).register_forward_pre_hook(lambda _m, inputs: kept.append(inputs[0][:, token].clone()))
    model(ids, logits_to_keep=1)
    hook.remove()
    return kept[0]


def first_of(output: Tensor | tuple[Tensor, ...]) -> Tensor:
    return output[0] if isinstance(output, tuple) else output


def changing(model: Qwen2ForCausalLM, change: Change) -> torch.utils.hooks.RemovableHandle:
    (kind, layer), token, delta = change

    def hook(_module, _inputs, output):
        first_of(output)[:, token] += delta
        return output

    return part(model, ("attn" if kind == "mid" else kind, layer)).register_forward_hook(hook)


@torch.no_grad()
def logits_after(model: Qwen2ForCausalLM, ids: Tensor, *changes: Change, keep: int = 1) -> Tensor:
    hooks = [changing(model, change) for change in changes]
    logits = model(ids, logits_to_keep=keep).logits
    for hook in hooks:
        hook.remove()
    return logits


def projected(delta: Tensor, basis: Tensor | None) -> Tensor:
    if basis is None:
        return delta
    basis = basis[:, None] if basis.ndim == 1 else torch.linalg.qr(basis)[0]
    return delta @ basis @ basis.T


def swap(model: Qwen2ForCausalLM, case: str, site: Site, token: str, basis: Tensor | None, k: int = 2) -> Change:
    """The interchange at one site: what must be added to the corrupted run."""
    _, clean, corrupted = examples(case, k)
    at = clean.positions[token]
    difference = states(model, clean.ids, site, at) - states(model, corrupted.ids, site, at)
    return site, at, projected(difference, basis)


def said(logits: Tensor) -> list[str]:
    return tokenizer().convert_ids_to_tokens(logits.argmax(-1).tolist())


def iia(model: Qwen2ForCausalLM, case: str, *changes: Change, k: int = 2, name: Callable = lambda e: e.r) -> float:
    """The fraction of corrupted prompts after which the model names r (or what `name` says) once changed."""
    drawn, _, corrupted = examples(case, k)
    answers = said(logits_after(model, corrupted.ids, *changes)[:, -1])
    return sum(answer == str(name(e))[0] for answer, e in zip(answers, drawn, strict=True)) / len(drawn)


def patched(case: str, site: Site, token: str, basis: Tensor | None, variant: str | None = None, k: int = 2) -> float:
    model, _ = model_of(variant)
    return iia(model, case, swap(model, case, site, token, basis, k), k=k)


def numbers_at_y1(model: Qwen2ForCausalLM, layer: int) -> Tensor:
    prompts = encode(tokenizer(), TWO, [(y, 55 if y != 55 else 54) for y in range(10, 100)])
    return states(model, prompts.ids, ("resid", layer), prompts.positions["y1"])


def head_effects(variant: str | None = None) -> dict[int, float]:
    """IIA of interchanging each head of the transport block at y2, with y1 perturbed."""
    model, truth = model_of(variant)
    layer = truth.number_layer + 1
    _, clean, corrupted = examples("y1")
    token = clean.positions["y2"]
    inputs = states(model, clean.ids, ("heads", layer), token) - states(model, corrupted.ids, ("heads", layer), token)
    weight, size = model.model.layers[layer].self_attn.o_proj.weight, model.model.layers[layer].self_attn.head_dim
    effects = {}
    for head in range(model.config.num_attention_heads):
        columns = slice(head * size, (head + 1) * size)
        effects[head] = iia(model, "y1", (("mid", layer), token, inputs[:, columns] @ weight[:, columns].T))
    return effects


def plane_with_frozen(model: Qwen2ForCausalLM, truth: Truth, case: str, layer: int, neurons: list[int]) -> float:
    """IIA of the plane patch while neurons keep their corrupted activations at y2."""
    two = truth.directions[2]
    change = swap(model, case, ("mid", truth.number_layer + 1), "y2", torch.stack([two["v1"], two["v2"]], 1))
    _, _, corrupted = examples(case)
    token = corrupted.positions["y2"]
    frozen = states(model, corrupted.ids, ("neurons", layer), token)[:, neurons]

    def pin(_module, inputs):
        held = inputs[0].clone()
        held[:, token, neurons] = frozen
        return (held,)

    hook = part(model, ("neurons", layer)).register_forward_pre_hook(pin)
    score = iia(model, case, change)
    hook.remove()
    return score
