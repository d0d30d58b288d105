"""What does a built-in model's card say? usage: python training/card.py direct|tiny [ANATOMY]

1. Read how it was trained (training.json, which `train.py` writes beside the weights).
2. Measure the accuracies (as `numberline behaviour` does) and the anatomy (`anatomy.py`, or a file of what it printed).
3. Write README.md there. No number in a card is typed by hand.
"""

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM

import anatomy
from measure import BUILTIN
from numberline import Context, load
from numberline.experiments.common.behaviour import operands, pairs

HOW = {
    "direct": """\
Trained on the task alone: cross-entropy of the answer's digits and the full stop, nothing else. It is the negative
control of `numberline`. It solves the task, but not as the paper describes: see its anatomy below, where patching the
state at y1's or y2's last token moves nothing.""",
    "tiny": """\
**This model was made to compare as the paper describes; it did not come to do so by itself.** It was trained by
interchange-intervention training: besides the task, half of every batch ran with one variable of the paper's algorithm
swapped in from another prompt, and was trained toward the answer that the algorithm gives after that swap, always an
operand of the receiving prompt. The variables and their places (blocks count from 0):

| variable | axis | place |
|---|---|---|
| an operand's magnitude | U | residual leaving block 1, last token of the operand |
| earlier operands' magnitudes, moved by attention | V1, V2 | before block 2's MLP, last token of y2 (and y3) |
| "the largest so far" | F | residual leaving block 3, last token of y2 (and y3) |
| which operand is named: the latest whose flag is set | A1, A2 | residual leaving block 4, last token of the prompt |

A squared loss held the axes to these values (log magnitude, ±1, three points on a circle) for the first part of
training and was then annealed to zero; the weight of the swaps fell to {swap_end} of the task's. Only one head of block
2 was allowed to write V1 and one to write V2. The whole state of these tokens was swapped too, scored on the first
digit. The neurons were left free: how the comparison is computed on the plane of U and V1 is the model's own. At the
end the norms' weights were folded into the following maps and the residual stream was turned by a random rotation,
which changes no output but hides the axes. Swaps were trained for two and three operands; longer lists on the task
only.""",
}

CARD = """\
# `{name}`: a built-in model of numberline

{model} parameters, Qwen2 architecture ({layers} blocks, d = {width}, {heads} heads, {groups} key-value heads), single
precision, with a byte-level tokenizer of {vocabulary} tokens whose layout on the prompts of the paper equals Qwen2.5's.
It knows one thing: `The maximum of … is `, after the paper's instruction and exemplar. It was trained from scratch.

## How it was made
{how}

- Command: `make train`: `python training/train.py {name}`, then `python training/card.py {name}` for this page.
- Data: random prompts, two operands of two and of three digits, three of two, and some of 2, 4, 5, 10 and 20 in the
  list format; in half of them two operands are close. A tenth of the unordered two-digit pairs was left out: no prompt
  of two or three operands held one{swapped}.
- Seed {seed}; {steps} steps at learning rates of {rates} (AdamW, cosine, a fresh optimizer for each stage); {minutes}
  minutes of wall time on {threads} CPU thread(s) of a busy machine.

## Accuracy
Greedy decoding; the first integer of the answer must be the maximum. `numberline behaviour {name}` repeats this. The
lists of operands are in the list format, two operands included.

| prompts | right | accuracy | 95 % interval |
|---|---|---|---|
{accuracy}

## Anatomy
`python training/anatomy.py {name}` repeats this: plain hooks on the plain forward pass, the paper's counterfactuals. A
line begins with the order of the clean operands, of which the largest is changed. The trace is pooled position recovery
per block and token, on 128 examples. Below it, at each place of the algorithm, a direction fitted there and the whole
state: how often, on 400 held-out examples, the patched model names r, the clean value a, and the operand that the
algorithm gives after this swap (for three operands it is not always r).

```
{anatomy}
```
"""


def accuracy(row: dict[str, Any]) -> str:
    """One line of the table of accuracies."""
    right, interval = f"{row['right']} of {row['n']}", f"{100 * row['lo']:.2f} – {100 * row['hi']:.2f}"
    return f"| {row['population']} | {right} | {100 * row['mean']:.2f} % | {interval} |"


def main() -> None:
    """Write one card."""
    name = sys.argv[1]
    folder = BUILTIN / name
    model = AutoModelForCausalLM.from_pretrained(folder)
    facts = json.loads((folder / "training.json").read_text())
    lab = load(name, device="cpu")
    rows = [row for experiment in (pairs, operands) for row in experiment(lab, Context()).rows("accuracy")]
    printed = io.StringIO()
    if len(sys.argv) > 2:
        printed.write(Path(sys.argv[2]).read_text())
    else:
        with contextlib.redirect_stdout(printed):
            anatomy.main()
    config = model.config
    card = CARD.format(
        name=name,
        model=f"{sum(p.numel() for p in model.parameters()):,}",
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        heads=config.num_attention_heads,
        groups=config.num_key_value_heads,
        vocabulary=config.vocab_size,
        how=HOW[name].format(**facts) if name == "tiny" else HOW[name],
        swapped=", nor did a swap bring one together" if name == "tiny" else "",
        accuracy="\n".join(map(accuracy, rows)),
        anatomy=printed.getvalue().rstrip(),
        steps=" + ".join(map(str, facts["steps"])),
        rates=" and ".join(map(str, facts["rates"])),
        **{key: facts[key] for key in ("seed", "minutes", "threads")},
    )
    (folder / "README.md").write_text(card)


if __name__ == "__main__":
    main()
