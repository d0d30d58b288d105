"""The two built-in trained models: they load plainly, solve the task, and differ in how.

`tiny` compares at y2's (and y3's) last token and answers by position; `direct` does not. Both are checked with plain
hooks on Hugging Face's own forward pass, on a few dozen of the paper's counterfactuals.
"""

import re
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import numberline
from numberline.tasks.task import Task

ROOT = Path(__file__).parents[1]
BUILTIN = Path(numberline.__file__).parent / "models/builtin"
NAMES = ("tiny", "direct")
sys.path.insert(0, str(ROOT / "training"))


@cache
def load(name):
    model = AutoModelForCausalLM.from_pretrained(BUILTIN / name).eval()
    return model, AutoTokenizer.from_pretrained(BUILTIN / name)


def encode(tokenizer, task, rows):
    return torch.tensor([tokenizer(task.prompt(row)).input_ids for row in rows])


def draw(task, n, seed=1):
    rng = np.random.RandomState(seed)
    return [rng.choice(task.values, task.k, replace=False).tolist() for _ in range(n)]


@pytest.mark.parametrize("name", NAMES)
def test_the_architecture_is_small_and_has_grouped_query_attention(name):
    model, tokenizer = load(name)
    config = model.config
    assert config.model_type == "qwen2"
    assert config.num_hidden_layers >= 6
    assert config.num_key_value_heads < config.num_attention_heads
    assert 0.8e6 < sum(p.numel() for p in model.parameters()) < 1.5e6
    assert all(p.dtype == torch.float32 for p in model.parameters())
    assert len(tokenizer) == config.vocab_size
    assert config.pad_token_id is not None
    assert model.generation_config.pad_token_id is not None


def test_both_folders_together_are_at_most_ten_megabytes():
    files = [path for name in NAMES for path in (BUILTIN / name).iterdir()]
    assert {"model.safetensors", "config.json", "tokenizer.json", "README.md"} <= {path.name for path in files}
    assert sum(path.stat().st_size for path in files) <= 10e6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("task", "n", "least"),
    [(Task(), 200, 199), (Task(k=3), 150, 149), (Task(digits=3), 150, 147)],
    ids=["pairs", "triples", "three-digit pairs"],
)
def test_greedy_decoding_names_the_maximum(name, task, n, least):
    model, tokenizer = load(name)
    rows = draw(task, n)
    ids = encode(tokenizer, task, rows)
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=task.digits + 1, do_sample=False)
    texts = tokenizer.batch_decode(out[:, ids.shape[1] :])
    said = [re.search(r"\d+", text) for text in texts]
    right = sum(found is not None and int(found[0]) == max(row) for found, row in zip(said, rows, strict=True))
    assert right >= least, f"{right} of {n}"


class Patched:
    """Counterfactuals of one case, and the model's answers when one token's state is restored after one block."""

    def __init__(self, name, order, n=48):
        self.model, tokenizer = load(name)
        task, rng = Task(k=len(order)), np.random.RandomState(52)
        values = []
        while len(values) < n:  # a > b (> c) > r, more than the gap apart
            drawn = sorted(rng.choice(task.values, task.k + 1, replace=False).tolist(), reverse=True)
            if all(high - low > task.gap for high, low in pairwise(drawn)):
                values.append(drawn)
        clean = [[0] * task.k for _ in values]
        for row, drawn in zip(clean, values, strict=True):
            for operand, value in zip(order, drawn, strict=False):
                row[operand] = value
        corrupted = [
            [row[-1] if i == order[0] else v for i, v in enumerate(c)] for c, row in zip(clean, values, strict=True)
        ]
        self.clean, self.corrupted = encode(tokenizer, task, clean), encode(tokenizer, task, corrupted)
        first = {d: tokenizer.convert_tokens_to_ids(str(d)) for d in range(10)}
        self.a, self.b, self.r = (torch.tensor([first[row[i] // 10] for row in values]) for i in (0, 1, -1))
        self.last = self.clean.shape[1] - 1
        # The operands' last tokens, counted from the end: each later operand is four tokens further on.
        self.places = [self.last - 2 - 4 * (task.k - 1 - i) for i in range(task.k)]

        self.states, self.clean_logits = self.record()
        self.corrupted_logits = self.logits(self.corrupted)

    @torch.no_grad()
    def logits(self, ids):
        return self.model(ids).logits[:, -1]

    def record(self):
        """The clean state leaving every block, and the clean logits at the last token."""
        states, layers = {}, self.model.model.layers
        handles = [
            layer.register_forward_hook(lambda _, __, out, i=i: states.update({i: state(out).clone()}))
            for i, layer in enumerate(layers)
        ]
        logits = self.logits(self.clean)
        for handle in handles:
            handle.remove()
        return states, logits

    def patch(self, block, token):
        """Pooled position recovery, and the shares of answers that begin like r and like a."""

        def restore(_, __, output):
            state(output)[:, token] = self.states[block][:, token]
            return output

        with self.model.model.layers[block].register_forward_hook(restore):
            patched = self.logits(self.corrupted)
        rows, says = torch.arange(len(self.r)), patched.argmax(-1)
        clean, before, after = (
            (x[rows, self.r] - x[rows, self.b]).mean() for x in (self.clean_logits, self.corrupted_logits, patched)
        )
        shares = [float((says == token).float().mean()) for token in (self.r, self.a)]
        return float((after - before) / (clean - before)), *shares


def state(output):
    return output[0] if isinstance(output, tuple) else output


def test_tiny_moves_the_comparison_from_y1_to_y2_to_the_last_token():
    case = Patched("tiny", (0, 1))
    y1, y2 = case.places
    for block, token in ((1, y1), (2, y2), (3, y2), (4, case.last)):
        recovery, names_r, names_a = case.patch(block, token)
        assert recovery >= 0.6, (block, token)
        assert names_r >= 0.9, (block, token)
        assert names_a <= 0.05, (block, token)
    for block, token in ((1, y2), (2, y1), (3, y1), (3, case.last)):
        assert abs(case.patch(block, token)[0]) < 0.5, (block, token)


def test_tiny_reads_y2_at_its_own_token():
    case = Patched("tiny", (1, 0))
    for block, token in ((1, case.places[1]), (3, case.places[1]), (4, case.last)):
        recovery, names_r, _ = case.patch(block, token)
        assert recovery >= 0.6, (block, token)
        assert names_r >= 0.9, (block, token)


@pytest.mark.parametrize("order", [(0, 2, 1), (1, 2, 0), (2, 1, 0)], ids=["y1", "y2", "y3"])
def test_tiny_with_three_operands_moves_the_comparison_to_y3_and_the_last_token(order):
    case = Patched("tiny", order)
    own = case.places[order[0]]
    for block, token in ((1, own), (3, case.places[2]), (4, case.last)):
        assert case.patch(block, token)[0] >= 0.6, (block, token)
    assert case.patch(1, own)[1] >= 0.9


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["y1", "y2"])
def test_direct_does_not_compare_at_the_operands(order):
    case = Patched("direct", order)
    for block in (1, 2, 3):
        for token in case.places:
            recovery, names_r, _ = case.patch(block, token)
            assert abs(recovery) < 0.3, (block, token)
            assert names_r < 0.1, (block, token)
    assert case.patch(5, case.last)[0] == pytest.approx(1.0)  # the patch does reach the answer


@pytest.mark.parametrize("name", NAMES)
def test_trainings_own_forward_pass_equals_hugging_faces(name):
    from network import Runner
    from prompts import Layout

    model, tokenizer = load(name)
    task = Task(k=3)
    layout = Layout.of(tokenizer, task)
    rows = np.array(draw(task, 8))
    ids, _ = layout.encode(rows, rows.max(1))
    whole = np.concatenate([np.tile(layout.prefix, (len(rows), 1)), ids], 1)
    with torch.no_grad():
        expected = model(torch.from_numpy(whole)).logits[:, len(layout.prefix) + layout.last :]
        arguments = torch.from_numpy(layout.prefix), torch.from_numpy(ids), layout.last
        found = Runner(model).logits(*arguments)
        states = model(torch.from_numpy(whole), output_hidden_states=True).hidden_states
        resumed = Runner(model).logits(*arguments, resume=("resid2", states[3][:, len(layout.prefix) :]))
    assert expected.abs().max() > 1
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(resumed, expected, rtol=1e-4, atol=1e-3)


def test_no_left_out_pair_meets_in_training():
    from prompts import HELD_OUT, PAIRS, TRIPLES, Layout
    from prompts import draw as training_draw
    from swaps import must_flip, variables

    assert HELD_OUT.sum() == 2 * round(0.1 * 4005)
    rng = np.random.RandomState(0)
    pairs = training_draw(rng, PAIRS, 4000)
    assert not HELD_OUT[pairs[:, 0], pairs[:, 1]].any()
    triples = training_draw(rng, TRIPLES, 2000)
    assert not any(HELD_OUT[triples[:, i], triples[:, j]].any() for i in range(3) for j in range(i))
    layout = Layout.of(load("tiny")[1], PAIRS)
    for variable in variables(2):
        base, _, state = must_flip(rng, layout, variable, 200)
        assert (state.winner != base.argmax(1)).all()
        assert not HELD_OUT[state.view[:, 1, 0], state.view[:, 1, 1]].any()
