"""Does a model compare as the paper describes? usage: python training/anatomy.py direct|tiny|FOLDER [K]

Quantity on the paper's counterfactuals with plain hooks on Hugging Face's plain forward pass:
1. sample (a, b, r) or (a, b, c, r) with the paper's gaps; the corrupted prompt has r where the clean one has a;
2. causal trace (128 examples): restore the clean residual stream leaving one block at one token, and print the pooled
   recovery, mean numerator over mean denominator, of PLD = logit[t(r)] − logit[t(b)];
3. at each place of the algorithm fit a rank-one direction by DAS (128 examples, 100 Adam steps) and print, on 400
   held-out examples, how often the patched model names r, a, and the operand of the corrupted prompt that the
   algorithm gives. For three operands the algorithm does not always give r: a patch at y3 leaves y2's flag as it was.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen2ForCausalLM

from measure import BUILTIN
from network import Runner
from numberline.tasks.task import Task
from prompts import Ints, Layout
from swaps import Variable, after_swap

FIT, HELD_OUT = 128, 400
# The paper's two arrangements and three perturbation cases, and the head group in which y2 is the runner-up. Each lists
# the clean prompt's operands (0 is y1) from the largest down.
ORDERS = [(0, 1), (1, 0), (0, 2, 1), (1, 2, 0), (2, 1, 0), (0, 1, 2)]


@dataclass(frozen=True)
class Case:
    """Counterfactuals in which one operand changes, for one order of the values."""

    name: str
    layout: Layout
    clean: Ints  # [n, k]
    corrupted: Ints
    clean_ids: Tensor  # [n, tokens], whole prompts
    corrupted_ids: Tensor
    t_r: Tensor  # [n], first token of r
    t_b: Tensor
    t_a: Tensor

    def token(self, name: str) -> int:
        """The index of "y1" … or "last" in the whole prompt."""
        place = self.layout.last if name == "last" else int(self.layout.places[int(name[1:]) - 1])
        return len(self.layout.prefix) + place


def counterfactuals(layout: Layout, order: tuple[int, ...], n: int, seed: int = 52) -> Case:
    """The paper's counterfactuals; `order` lists the operands from the largest down, so order[0] is the one changed."""
    task, rng = layout.task, np.random.RandomState(seed)
    draws = np.unique(-np.sort(-rng.choice(task.values, (200 * n, task.k + 1)), 1), axis=0)
    draws = draws[(draws[:, :-1] - draws[:, 1:] > task.gap).all(1)]
    values = draws[rng.permutation(len(draws))[:n]]  # a > b (> c) > r
    clean = np.empty((len(values), task.k), dtype=np.int64)
    clean[:, list(order)] = values[:, : task.k]
    corrupted = clean.copy()
    corrupted[:, order[0]] = values[:, -1]
    first = layout.spell(values)[..., 0]
    ids = [
        torch.from_numpy(np.concatenate([np.tile(layout.prefix, (len(x), 1)), layout.encode(x, x[:, 0])[0]], 1))
        for x in (clean, corrupted)
    ]
    end = len(layout.prefix) + len(layout.question)
    name = " > ".join(f"y{i + 1}" for i in order)
    tokens = [torch.from_numpy(first[:, column]) for column in (-1, 1, 0)]
    return Case(name, layout, clean, corrupted, ids[0][:, :end], ids[1][:, :end], *tokens)


def module(model: Qwen2ForCausalLM, site: str) -> nn.Module:
    """The module whose output a site adds to or is: "resid3" is a block's output, "mid2" goes through its attention."""
    layer: nn.Module = model.model.layers[int(site[-1])]
    return layer.self_attn if site.startswith("mid") else layer  # type: ignore[return-value]


@contextmanager
def hooked(place: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """While open, a module's output is changed."""

    def hook(_: nn.Module, __: object, output: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        return change(output)

    handle = place.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


@torch.no_grad()
def record(model: Qwen2ForCausalLM, ids: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    """The residual stream [n, tokens, d] at every site, and the logits at the last token."""
    found: dict[str, Tensor] = {}
    handles = []
    for index, layer in enumerate(model.model.layers):
        norm = layer.post_attention_layernorm  # its input is the residual stream between attention and MLP
        handles.append(norm.register_forward_pre_hook(lambda _, x, i=index: found.update({f"mid{i}": x[0]})))
        handles.append(layer.register_forward_hook(lambda _, __, x, i=index: found.update({f"resid{i}": tensor(x)})))
    logits = model(ids).logits[:, -1]
    for handle in handles:
        handle.remove()
    return found, logits


def tensor(output: Tensor | tuple[Tensor, ...]) -> Tensor:
    """A block's output, whichever way this version of transformers returns it."""
    return output[0] if isinstance(output, tuple) else output


class Bench:
    """One case's recorded runs, and patched ones."""

    def __init__(self, model: Qwen2ForCausalLM, case: Case) -> None:
        self.model, self.case = model, case
        self.clean, self.clean_logits = record(model, case.clean_ids)
        self.corrupted, self.corrupted_logits = record(model, case.corrupted_ids)

    @torch.no_grad()
    def patch(self, site: str, token: int, direction: Tensor | None = None) -> Tensor:
        """Last-token logits with the clean component (all of it, or one direction's) at one site and token."""
        shift = (self.clean[site] - self.corrupted[site])[:, token]
        if direction is not None:
            shift = (shift @ direction)[:, None] * direction

        def change(x: Tensor) -> Tensor:
            return torch.cat([x[:, :token], x[:, token : token + 1] + shift[:, None], x[:, token + 1 :]], 1)

        with hooked(module(self.model, site), change):
            logits: Tensor = self.model(self.case.corrupted_ids).logits[:, -1]
        return logits

    def pld(self, logits: Tensor) -> Tensor:
        """logit[t(r)] − logit[t(b)] per example."""
        rows = torch.arange(len(logits))
        return logits[rows, self.case.t_r] - logits[rows, self.case.t_b]

    def recovery(self, logits: Tensor) -> float:
        """Pooled position recovery."""
        base = self.pld(self.corrupted_logits)
        return float((self.pld(logits) - base).mean() / (self.pld(self.clean_logits) - base).mean())


def unit(x: Tensor) -> Tensor:
    """The vector at length one."""
    return x / x.square().sum().sqrt()


def fit(model: Qwen2ForCausalLM, case: Case, bench: Bench, site: str, token: int, seed: int = 0) -> Tensor:
    """DAS for one direction: cross-entropy toward t(r) over {t(b), t(r)}, on the recorded states."""
    start = len(case.layout.prefix)
    shift = (bench.clean[site] - bench.corrupted[site])[:, token]
    free = torch.randn(shift.shape[1], generator=torch.Generator().manual_seed(seed)).requires_grad_()
    optimizer, runner = torch.optim.Adam([free], lr=0.05), Runner(model)
    rows, prefix = torch.arange(len(shift)), torch.from_numpy(case.layout.prefix)
    state, ids = bench.corrupted[site][:, start:], case.corrupted_ids[:, start:]
    for _ in range(100):
        direction = unit(free)
        moved = (shift @ direction)[:, None] * direction
        patched = state.index_put((rows, torch.tensor(token - start)), state[:, token - start] + moved)
        logits = runner.logits(prefix, ids, case.layout.last, resume=(site, patched))[:, 0]
        pair = torch.stack([logits[rows, case.t_b], logits[rows, case.t_r]], 1)
        optimizer.zero_grad()
        cross_entropy(pair, torch.ones(len(pair), dtype=torch.long)).backward()
        optimizer.step()
    return unit(free).detach()


def split(case: Case) -> tuple[Case, Case]:
    """The fitting examples and the held-out ones."""
    parts = []
    for part in (slice(0, FIT), slice(FIT, FIT + HELD_OUT)):
        arrays = [getattr(case, name)[part] for name in list(Case.__dataclass_fields__)[2:]]
        parts.append(Case(case.name, case.layout, *arrays))
    return parts[0], parts[1]


def trace(model: Qwen2ForCausalLM, case: Case) -> None:
    """Print the causal trace, blocks by tokens."""
    bench = Bench(model, case)
    tokens = range(len(case.layout.prefix), case.clean_ids.shape[1])
    names = {case.token(f"y{i + 1}"): f"y{i + 1}" for i in range(case.layout.task.k)} | {case.token("last"): "last"}
    print(f"trace, {case.name}: " + " ".join(f"{names.get(token, '.'):>5}" for token in tokens))
    for index in range(len(model.model.layers)):
        line = [bench.recovery(bench.patch(f"resid{index}", token)) for token in tokens]
        print(f"  resid{index}".ljust(len(case.name) + 9) + " ".join(f"{value:5.2f}" for value in line), flush=True)


def directions(model: Qwen2ForCausalLM, case: Case, places: list[tuple[Variable, str]]) -> None:
    """Fit, patch and score a direction at each place; next to it the full-rank patch."""
    fitting, held_out = split(case)
    benches = Bench(model, fitting), Bench(model, held_out)
    rows = np.arange(len(held_out.clean))
    for variable, name in places:
        token = case.token(name)
        direction = fit(model, fitting, benches[0], variable.site, token)
        winner = after_swap(variable, held_out.corrupted, held_out.clean).winner
        predicted = torch.from_numpy(case.layout.spell(held_out.corrupted[rows, winner])[:, 0])
        for what, patched in (
            ("rank one", benches[1].patch(variable.site, token, direction)),
            ("full", benches[1].patch(variable.site, token)),
        ):
            says = patched.argmax(-1)
            shares = [float((says == t).float().mean()) for t in (held_out.t_r, held_out.t_a, predicted)]
            scores = f"r {shares[0]:.3f}  a {shares[1]:.3f}  algorithm {shares[2]:.3f}"
            print(
                f"{case.name}  {variable.site}@{name:<4} {what:<8} {scores}  PR {benches[1].recovery(patched):.2f}",
                flush=True,
            )


def places(order: tuple[int, ...]) -> list[tuple[Variable, str]]:
    """Where the changed operand's effect should be: its own token, where it meets the runner-up, and the last token."""
    who, at = order[0], max(order[:2])
    meets = f"y{at + 1}"
    return [
        (Variable("number", "resid1", who, who), f"y{who + 1}"),
        (Variable("moved", "mid2", at, who), meets),
        (Variable("flag", "resid3", at), meets),
        (Variable("answer", "resid4", -1), "last"),
    ]


def main() -> None:
    """Print the anatomy of one model."""
    folder = BUILTIN / sys.argv[1] if sys.argv[1] in ("direct", "tiny") else sys.argv[1]
    model = AutoModelForCausalLM.from_pretrained(folder).requires_grad_(False)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for order in ORDERS:
        if len(sys.argv) > 2 and len(order) != int(sys.argv[2]):
            continue
        case = counterfactuals(Layout.of(tokenizer, Task(k=len(order))), order, FIT + HELD_OUT)
        trace(model, split(case)[0])
        directions(model, case, places(order))


if __name__ == "__main__":
    main()
