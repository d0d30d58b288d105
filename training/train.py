"""How are the built-in models made? usage: python training/train.py direct|tiny [--out FOLDER] [--steps N]

`direct` is trained on the task alone: name the largest operand, digit by digit, then stop.

`tiny` is trained by interchange-intervention training to compare as the paper describes (`swaps.py`):
1. half of every batch runs plainly (the sources), half runs with one variable swapped in from its source and is trained
   toward the answer that the algorithm gives after that swap. Every swap must flip the answer, and both halves weigh
   the same: then the direct route, right on one half and wrong on the other, gains nothing, and the axes must be used;
2. a squared loss makes the axes exist: each holds what the algorithm holds there, after the swap too;
3. one attention head may write V1 and one V2, so that transport has an address, as it has in the paper;
4. the helping losses are annealed, the squared one to zero and the swaps to less than the task;
5. the norms' weights are folded into the maps that follow and the residual stream is rotated at random (`hide.py`), so
   that no variable lies on a coordinate axis any more.
`card.py` then measures what came out and writes the model card.
"""

import argparse
import json
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoTokenizer, GenerationConfig, Qwen2ForCausalLM

from batches import Tally, plain_batch, run, swap_batch
from hide import hide
from network import Runner, new_model
from prompts import LONGER, PAIRS, PAIRS3, TRIPLES, Layout
from swaps import V1, V2

BUILTIN = Path(__file__).parents[1] / "src/numberline/models/builtin"
SWAP_END = 0.3  # the swaps' weight at the end, where the task's is one
TRANSPORT = {V1: 0, V2: 4}  # the block-2 head that may write each axis; one of each key-value group


@dataclass(frozen=True)
class Recipe:
    """How many prompts of each kind, how long, and how the loss weights move over training."""

    steps: int
    rate: float
    swaps: bool
    seed: int = 52
    batch: int = 128

    def ramp(self, step: int, start: float, end: float) -> float:
        """Zero until `start` of training, one from `end` on."""
        return min(1.0, max(0.0, (step / self.steps - start) / (end - start)))

    def learning_rate(self, step: int) -> float:
        """A short warm-up, then a cosine to (almost) zero."""
        return self.rate * min(1.0, (step + 1) / 100) * (0.5 + 0.5 * math.cos(math.pi * step / self.steps) + 1e-3)

    def groups(self, step: int) -> dict[str, int]:
        """Prompts per step of each kind; harder kinds join once pairs are under way."""
        b = self.batch
        if not self.swaps:
            return {"pairs": b // 2, "triples": b // 2, "pairs3": b, "longer": b // 4}
        if step < 250:
            return {"pairs": b // 2}
        if step < 500:
            return {"pairs": b // 4, "triples": b // 2, "pairs3": b // 4}
        return {"pairs": b // 4, "triples": b // 2, "pairs3": b // 2, "longer": b // 4}


def keep_addresses(model: Qwen2ForCausalLM) -> None:
    """Let only the transport heads of block 2 write V1 and V2 (a projection after each step)."""
    weight = model.model.layers[2].self_attn.o_proj.weight
    size = weight.shape[0] // model.config.num_attention_heads
    with torch.no_grad():
        for axis, head in TRANSPORT.items():
            own = weight[axis, head * size : (head + 1) * size].clone()
            weight[axis] = 0
            weight[axis, head * size : (head + 1) * size] = own


def train(recipe: Recipe, snapshot: Path) -> Qwen2ForCausalLM:
    """The training loop; a snapshot of the weights every 100 steps."""
    tokenizer = AutoTokenizer.from_pretrained(BUILTIN / "tiny")
    layouts = {"pairs": Layout.of(tokenizer, PAIRS), "triples": Layout.of(tokenizer, TRIPLES)}
    layouts["pairs3"] = Layout.of(tokenizer, PAIRS3)
    longer = [Layout.of(tokenizer, task) for task in LONGER]
    rng = np.random.RandomState(recipe.seed)
    model = new_model(recipe.seed)
    runner = Runner(model)
    decay = [p for p in model.parameters() if p.ndim == 2]
    rest = [p for p in model.parameters() if p.ndim != 2]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}])
    began, tally = time.time(), Tally()
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate(step)
        late = recipe.ramp(step, 0.6, 0.9)
        swap_weight, squared_weight = 1.0 - (1.0 - SWAP_END) * late, (1 - recipe.ramp(step, 0.4, 0.7))
        optimizer.zero_grad(set_to_none=True)
        groups = recipe.groups(step)
        for kind, count in groups.items():
            layout = layouts[kind] if kind in layouts else longer[step % len(longer)]
            rows = max(4, count * 10 // layout.question.size) if kind == "longer" else count
            swaps = recipe.swaps and layout.task.k <= 3
            batch = swap_batch(rng, layout, rows) if swaps else plain_batch(rng, layout, rows)
            losses, hits, squared = run(runner, batch)
            n = batch.n
            scored = losses * batch.weights
            loss = scored[:n].mean(1).sum() / n
            if swaps:
                loss = (
                    loss
                    + swap_weight * scored[n:].sum() / batch.weights[n:].sum()
                    + squared_weight * sum(squared.values())
                )
            share = count / sum(groups.values())
            (loss * share).backward()
            tally.add(kind, batch, losses, hits, squared)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if recipe.swaps:
            keep_addresses(model)
        if (step + 1) % 50 == 0:
            print(f"{step + 1} {time.time() - began:.0f}s {tally.line()}", flush=True)
            tally = Tally()
        if (step + 1) % 100 == 0 or step + 1 == recipe.steps:
            save_file(model.model.state_dict(prefix="model."), snapshot)
    return model


RECIPES = {
    "direct": Recipe(steps=1600, rate=2e-3, swaps=False),
    "tiny": Recipe(steps=1600, rate=2e-3, swaps=True),
}


def finish(model: Qwen2ForCausalLM, recipe: Recipe, minutes: float, folder: Path) -> None:
    """Hide the axes if there are any, check that nothing changed, and write the folder that ships."""
    if recipe.swaps:
        ids = torch.randint(0, 306, (8, 40), generator=torch.Generator().manual_seed(recipe.seed))
        with torch.no_grad():
            before = model(ids).logits
            model = hide(model, recipe.seed)
            change = (model(ids).logits - before).abs().max().item()
        print(f"the rotation changed the logits by at most {change:.1e}")
        if change > 1e-3:
            raise RuntimeError(f"the rotation changed the logits by {change}: it must not change the model")
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=0, pad_token_id=0)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(BUILTIN / "tiny").save_pretrained(folder)
    facts = vars(recipe) | {"swap_end": SWAP_END, "minutes": round(minutes), "threads": torch.get_num_threads()}
    (folder / "training.json").write_text(json.dumps(facts, indent=1) + "\n")


def main() -> None:
    """Train one model and write its folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--steps", type=int, help="fewer steps, for a trial")
    parser.add_argument("--out", type=Path, help="where to write the model; its place in the package unless given")
    arguments = parser.parse_args()
    recipe = RECIPES[arguments.name]
    if arguments.steps:
        recipe = replace(recipe, steps=arguments.steps)
    folder = arguments.out or BUILTIN / arguments.name
    folder.mkdir(parents=True, exist_ok=True)
    began = time.time()
    model = train(recipe, folder / "snapshot.safetensors")
    finish(model, recipe, (time.time() - began) / 60, folder)
    (folder / "snapshot.safetensors").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
