"""Greedy decoding equals `model.generate` on un-edited runs, and the oracle's step-by-step decoding on edited ones."""

import pytest
import torch
from benches import Bench
from oracle import OracleEdit

from numberline.engine.edits import add, swap, zero
from numberline.engine.sites import EVERYWHERE, head, mid, neurons, resid
from numberline.errors import NumberlineError

STEPS = 4


def test_unedited_decoding_is_the_models_own(any_bench: Bench):
    ids = any_bench.corrupted.prompts.ids
    options = {"max_new_tokens": STEPS, "min_new_tokens": STEPS, "do_sample": False, "pad_token_id": 0}
    want = any_bench.oracle.model.generate(ids, attention_mask=torch.ones_like(ids), **options)[:, -STEPS:]
    got = any_bench.lab.decode(any_bench.corrupted, [[]], STEPS)[0]
    assert torch.equal(got, want)


def test_edited_decoding_is_the_oracles(any_bench: Bench):
    bench, ids, vector = any_bench, any_bench.corrupted.prompts.ids, torch.linspace(-9, 9, 32)
    clean = bench.found["clean"]
    ablated = tuple(range(0, 48, 2))
    conditions = {
        "swap": ([swap(resid(0).at("y1"), bench.clean)],
                 [OracleEdit("resid", 0, [29], lambda x: clean["resid", 0][:, [29]])]),
        "late": ([add(resid(1).at("last"), vector)], [OracleEdit("resid", 1, [35], lambda x: x + vector.to(x))]),
        "in the prefix": ([add(resid(0).at(20), vector)], [OracleEdit("resid", 0, [20], lambda x: x + vector.to(x))]),
        "head": ([zero(head(1, 2).at(("y2", "last")))], [OracleEdit("head", 1, [33, 35], torch.zeros_like, (2,))]),
        "everywhere": ([zero(neurons(1, ablated).at(EVERYWHERE))],
                       [OracleEdit("neurons", 1, None, torch.zeros_like, ablated)]),
        "both": ([zero(neurons(1, ablated).at(EVERYWHERE)), swap(resid(1).at("y2"), bench.clean)],
                 [OracleEdit("neurons", 1, None, torch.zeros_like, ablated),
                  OracleEdit("resid", 1, [33], lambda x: clean["resid", 1][:, [33]])]),
    }  # fmt: skip
    if not bench.lab.network.parallel:
        conditions["mid"] = [add(mid(1).at("y2"), vector)], [OracleEdit("mid", 1, [33], lambda x: x + vector.to(x))]
    got = bench.lab.decode(bench.corrupted, [edits for edits, _ in conditions.values()], STEPS)
    plain, changed = bench.lab.decode(bench.corrupted, [[]], STEPS)[0], 0
    with torch.no_grad():
        for number, (name, (_, edits)) in enumerate(conditions.items()):
            want = bench.oracle.decode(ids, edits, STEPS)
            assert torch.equal(got[number], want), name
            changed += not torch.equal(want, plain)
    assert changed, "no edit changes the text, so nothing is shown"


def test_only_constants_can_hold_at_generated_tokens(qwen_bench: Bench):
    with pytest.raises(NumberlineError, match="36 source tokens cannot fill 40"):
        qwen_bench.lab.decode(qwen_bench.corrupted, [[swap(resid(1).at(EVERYWHERE), qwen_bench.clean)]], 4)
