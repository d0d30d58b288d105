"""`make train` makes the shipped models: the same tokenizer, the same prompts in the same order, the same first losses.

Training takes an hour, so its beginning is pinned instead: the batches that both recipes draw at the steps at which new
kinds of prompts join, and the loss of the first step. A change of a sampler, a template or the held-out pairs, which
would quietly make another model, changes a digest here.
"""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[1]
BUILT_IN = ROOT / "src/numberline/models/builtin"
STEPS = (0, 250, 500, 501, 502, 503, 504)  # from 500 on, one step for each length of the longer lists
DRAWN = {
    "tiny": {
        "pairs": "9308f8605ef2",
        "triples": "cec11514c47b",
        "pairs3": "52fb732df913",
        "longer": "95dd3549e53b",
    },
    "direct": {
        "pairs": "be25d89cf4c8",
        "triples": "1c49c74e2c52",
        "pairs3": "56a0ac9d3676",
        "longer": "a2d92b6bceee",
    },
}
FIRST_LOSS = {
    "tiny": {"loss": 5.9942, "gradient": 37.5529},
    "direct": {"loss": 5.9758, "gradient": 18.2364},
}


@pytest.fixture(scope="module")
def training():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "training")
        import tokenizer
        import train

        yield train, tokenizer


def digest(batch, before=""):
    """Everything that a batch brings to the network, after the batches before it."""
    layout, tensors = batch.layout, [batch.ids, batch.targets, batch.weights]
    for site, edit in sorted(batch.edits.items()):
        tensors += [torch.tensor(list(site.encode())), *edit]
    arrays = [layout.prefix, *(tensor.numpy() for tensor in tensors), *vars(batch.state).values()]
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(before.encode() + content).hexdigest()[:12]


@pytest.mark.parametrize("name", DRAWN)
def test_the_first_batches_are_those_that_the_shipped_models_saw(training, tmp_path, name):
    train, _ = training
    trainer = train.Trainer(train.RECIPES[name], tmp_path)
    rng = np.random.RandomState(train.RECIPES[name].seed)
    drawn: dict[str, str] = {}
    for step in STEPS:
        for kind, batch in trainer.batches(rng, step, 0):
            drawn[kind] = digest(batch, drawn.get(kind, ""))
    assert drawn == DRAWN[name]


@pytest.mark.parametrize("name", FIRST_LOSS)
def test_the_first_step_has_the_loss_that_it_had(training, tmp_path, name):
    train, _ = training
    trainer, tally = train.Trainer(train.RECIPES[name], tmp_path), train.Tally()
    stage, rng = train.RECIPES[name].stages[0], np.random.RandomState(train.RECIPES[name].seed)
    trainer.backward(rng, 0, 0, train.ramp(0, *stage.swaps), train.ramp(0, *stage.squared), tally)
    gradient = torch.nn.utils.get_total_norm([p.grad for p in trainer.model.parameters()]).item()
    found = {"loss": tally.sums["loss"][0], "gradient": gradient}
    assert found == pytest.approx(FIRST_LOSS[name], rel=1e-4)


@pytest.mark.parametrize("name", DRAWN)
def test_the_tokenizer_is_the_one_that_ships(training, tmp_path, name):
    _, tokenizer = training
    tokenizer.save(tmp_path)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        assert (tmp_path / file).read_text() == (BUILT_IN / name / file).read_text()


def test_a_batch_of_another_draw_has_another_digest(training, tmp_path):
    train, _ = training
    trainer = train.Trainer(train.RECIPES["tiny"], tmp_path)
    first, again, other = (next(trainer.batches(np.random.RandomState(seed), 0, 0))[1] for seed in (52, 52, 53))
    assert digest(first) == digest(again) != digest(other)
