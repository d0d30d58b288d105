"""How often does a built-in model name the maximum? usage: python training/measure.py direct|tiny|FOLDER

1. Draw prompts uniformly (not as training does): all 8,010 ordered two-digit pairs, of which a tenth was left out of
   training; random three-digit pairs and two-digit triples; lists of 2, 4, 5, 10 and 20 two-digit operands.
2. An answer is right when greedy decoding gives the maximum's digits and then something that is no digit. Feeding the
   right digits and asking for the argmax at each gives the same verdict: the first wrong token decides both.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast, Qwen2ForCausalLM

from network import Runner
from numberline.tasks.task import Task
from prompts import HELD_OUT, PAIRS, PAIRS3, TRIPLES, Ints, Layout

BUILTIN = Path(__file__).parents[1] / "src/numberline/models/builtin"


@dataclass(frozen=True)
class Accuracy:
    """How many of n prompts were answered rightly."""

    what: str
    right: int
    n: int


def all_pairs() -> Ints:
    """All 8,010 ordered pairs of distinct two-digit numbers."""
    return np.array([(first, second) for first in range(10, 100) for second in range(10, 100) if first != second])


def uniform(task: Task, n: int, seed: int) -> Ints:
    """Uniformly drawn distinct operands [n, k]."""
    rng = np.random.RandomState(seed)
    return np.stack([rng.choice(task.values, task.k, replace=False) for _ in range(n)])


@torch.no_grad()
def right(model: Qwen2ForCausalLM, layout: Layout, operands: Ints) -> NDArray[np.bool_]:
    """Which prompts the model answers with their maximum."""
    ids, targets = layout.encode(operands, operands.max(1))
    runner, verdicts = Runner(model), []
    for start in range(0, len(ids), 500):
        part = slice(start, start + 500)
        choice = runner.logits(torch.from_numpy(layout.prefix), torch.from_numpy(ids[part]), layout.last).argmax(-1)
        named = (choice[:, :-1].numpy() == targets[part, :-1]).all(1)
        verdicts.append(named & ~np.isin(choice[:, -1].numpy(), layout.digit_ids))
    return np.concatenate(verdicts)


def measure(model: Qwen2ForCausalLM, tokenizer: PreTrainedTokenizerFast) -> list[Accuracy]:
    """Accuracy at every length."""
    pairs = all_pairs()
    verdict = right(model, Layout.of(tokenizer, PAIRS), pairs)
    unseen = HELD_OUT[pairs[:, 0], pairs[:, 1]]
    found = [
        Accuracy("two-digit pairs, all ordered pairs", int(verdict.sum()), len(pairs)),
        Accuracy("two-digit pairs, those left out of training", int(verdict[unseen].sum()), int(unseen.sum())),
    ]
    others = {"three-digit pairs": PAIRS3, "two-digit triples": TRIPLES}
    others |= {f"{k} two-digit operands, list format": Task(k=k, listed=True) for k in (2, 4, 5, 10, 20)}
    for what, task in others.items():
        operands = uniform(task, 4000 if task.k <= 3 else 1000, seed=task.k)
        found.append(Accuracy(what, int(right(model, Layout.of(tokenizer, task), operands).sum()), len(operands)))
    return found


def main() -> None:
    """Measure one model, print the table and write it beside the weights."""
    folder = BUILTIN / sys.argv[1] if sys.argv[1] in ("direct", "tiny") else Path(sys.argv[1])
    model = AutoModelForCausalLM.from_pretrained(folder)
    table = measure(model, AutoTokenizer.from_pretrained(folder))
    for row in table:
        print(f"| {row.what} | {row.right} of {row.n} | {100 * row.right / row.n:.2f} % |")
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps([vars(row) for row in table], indent=1) + "\n")


if __name__ == "__main__":
    main()
