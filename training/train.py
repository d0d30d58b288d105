"""How are the built-in models made? usage: make train, or python training/train.py direct|tiny [--out FOLDER]

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
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer, GenerationConfig, Qwen2ForCausalLM

from batches import Batch, Tally, plain_batch, run, swap_batch
from hide import hide
from network import Runner, new_model
from prompts import LONGER, PAIRS, PAIRS3, TRIPLES, Layout
from swaps import V1, V2

BUILTIN = Path(__file__).parents[1] / "src/numberline/models/builtin"
SWAP_END = 0.3  # the swaps' weight at the end, where the task's is one
TRANSPORT = {V1: 0, V2: 4}  # the block-2 head that may write each axis; one of each key-value group


@dataclass(frozen=True)
class Stage:
    """A stretch of training with its own optimizer: how long, how fast, and how the helping losses' weights move."""

    steps: int
    horizon: int  # the cosine would reach zero here; more than `steps` if a later stage goes on from there
    rate: float
    squared: tuple[float, float, float, float]  # start and end of the ramp in steps, weight before and after it
    swaps: tuple[float, float, float, float]

    def learning_rate(self, step: int) -> float:
        """A short warm-up, then a cosine to (almost) zero."""
        return self.rate * min(1.0, (step + 1) / 100) * (0.5 + 0.5 * math.cos(math.pi * step / self.horizon) + 1e-3)


def ramp(step: int, start: float, end: float, before: float, after: float) -> float:
    """A straight line from one weight to the other."""
    return before + (after - before) * min(1.0, max(0.0, (step - start) / (end - start)))


@dataclass(frozen=True)
class Recipe:
    """Whether there are swaps, how many prompts of each kind there are, and the stages."""

    swaps: bool
    stages: tuple[Stage, ...]
    seed: int = 52
    batch: int = 128

    def groups(self, step: int) -> dict[str, int]:
        """Prompts per step of each kind; with swaps, harder kinds join once pairs are under way."""
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


class Trainer:
    """One model in training."""

    def __init__(self, recipe: Recipe, folder: Path) -> None:
        self.recipe, self.folder = recipe, folder
        tokenizer = AutoTokenizer.from_pretrained(BUILTIN / "tiny")
        self.layouts = {
            name: [Layout.of(tokenizer, task) for task in tasks]
            for name, tasks in {"pairs": [PAIRS], "triples": [TRIPLES], "pairs3": [PAIRS3], "longer": LONGER}.items()
        }
        self.model = new_model(recipe.seed)
        self.runner = Runner(self.model)

    def run(self, first: int = 0) -> None:
        """All stages, each with its own random numbers; from a later one on, start at the weights before it."""
        done = sum(stage.steps for stage in self.recipe.stages[:first])
        if first:
            self.model.load_state_dict(load_file(self.snapshot(first - 1)), strict=False)
            self.model.tie_weights()
        for number, stage in enumerate(self.recipe.stages[first:], first):
            self.stage(stage, np.random.RandomState(self.recipe.seed + number), done)
            save_file(self.model.model.state_dict(prefix="model."), self.snapshot(number))
            done += stage.steps

    def snapshot(self, number: int) -> Path:
        """Where a stage leaves its weights (the unembedding is tied to the embedding)."""
        return self.folder / f"stage{number}.safetensors"

    def stage(self, stage: Stage, rng: np.random.RandomState, done: int) -> None:
        """One stage; a snapshot of the weights every 100 steps."""
        decay = [p for p in self.model.parameters() if p.ndim == 2]
        rest = [p for p in self.model.parameters() if p.ndim != 2]
        optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}])
        began, tally = time.time(), Tally()
        for step in range(stage.steps):
            for group in optimizer.param_groups:
                group["lr"] = stage.learning_rate(step)
            optimizer.zero_grad(set_to_none=True)
            self.backward(rng, step, done, ramp(step, *stage.swaps), ramp(step, *stage.squared), tally)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            if self.recipe.swaps:
                keep_addresses(self.model)
            if (step + 1) % 50 == 0:
                print(f"{done + step + 1} {time.time() - began:.0f}s {tally.line()}", flush=True)
                tally = Tally()
            if (step + 1) % 100 == 0:
                save_file(self.model.model.state_dict(prefix="model."), self.folder / "snapshot.safetensors")

    def batches(self, rng: np.random.RandomState, step: int, done: int) -> Iterator[tuple[str, Batch]]:
        """The batches of one step, one of each kind of prompt."""
        for kind, count in self.recipe.groups(done + step).items():
            layout = self.layouts[kind][step % len(self.layouts[kind])]
            rows = max(4, count * 10 // layout.question.size) if kind == "longer" else count
            swapped = self.recipe.swaps and layout.task.k <= 3
            batch = swap_batch(rng, layout, rows) if swapped else plain_batch(rng, layout, rows)
            yield kind, batch

    def backward(
        self, rng: np.random.RandomState, step: int, done: int, swaps: float, squares: float, tally: Tally
    ) -> None:
        """Gradients of one step, over every kind of prompt in turn."""
        groups = self.recipe.groups(done + step)
        for kind, batch in self.batches(rng, step, done):
            losses, hits, squared = run(self.runner, batch)
            scored = losses * batch.weights
            loss = scored[: batch.n].mean()
            if batch.edits:
                loss = loss + swaps * scored[batch.n :].sum() / batch.weights[batch.n :].sum()
                loss = loss + squares * torch.stack(list(squared.values())).sum()
            (loss * groups[kind] / sum(groups.values())).backward()
            tally.add(kind, batch, losses, hits, squared)


NEVER = (0.0, 1.0, 0.0, 0.0)
RECIPES = {
    "direct": Recipe(
        swaps=False,
        stages=(Stage(600, 1600, 2e-3, NEVER, NEVER), Stage(500, 500, 1e-3, NEVER, NEVER)),
    ),
    "tiny": Recipe(
        swaps=True,
        stages=(
            Stage(800, 1600, 2e-3, squared=(640, 1120, 1.0, 0.0), swaps=(0, 1, 1.0, 1.0)),
            Stage(500, 500, 1e-3, squared=(0, 150, 0.6, 0.0), swaps=(100, 400, 1.0, SWAP_END)),
        ),
    ),
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
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if folder != BUILTIN / "tiny":
            shutil.copy(BUILTIN / "tiny" / name, folder / name)
    steps = [stage.steps for stage in recipe.stages]
    facts = {"seed": recipe.seed, "steps": steps, "rates": [stage.rate for stage in recipe.stages]}
    facts |= {"swap_end": SWAP_END, "minutes": round(minutes), "threads": torch.get_num_threads()}
    (folder / "training.json").write_text(json.dumps(facts, indent=1) + "\n")


def main() -> None:
    """Train one model and write its folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--out", type=Path, help="where to write the model; its place in the package unless given")
    parser.add_argument("--from-stage", type=int, default=0, help="go on from the weights that a stage began with")
    arguments = parser.parse_args()
    recipe = RECIPES[arguments.name]
    folder = arguments.out or BUILTIN / arguments.name
    folder.mkdir(parents=True, exist_ok=True)
    began = time.time()
    trainer = Trainer(recipe, folder)
    trainer.run(arguments.from_stage)
    finish(trainer.model, recipe, (time.time() - began) / 60, folder)
    for path in (folder / "snapshot.safetensors", *(trainer.snapshot(n) for n in range(len(recipe.stages)))):
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
