"""Position recovery and IIA against a plain forward pass with one hook; estimates against their definitions."""

import pytest
import torch

import numberline
from numberline.engine import resid, swap
from numberline.errors import NumberlineError
from numberline.methods import das
from numberline.methods.das import Fit, fit, fit_cases, fit_with_restart, mean_difference, random_subspaces
from numberline.methods.intervals import mean, ratio, wilson
from numberline.methods.scores import score
from numberline.tasks import Task, perturb, pool
from numberline.tasks.pairs import CounterfactualPairs, record_pairs

LAYER, TOKEN = 1, 29


@pytest.fixture(scope="module")
def lab():
    return numberline.load("tiny")


@pytest.fixture(scope="module")
def pairs(lab) -> CounterfactualPairs:
    task = Task()
    return record_pairs(lab, task, perturb(task, pool(task).evaluation[:24], "y1"))


def plain_logits(model, ids, patch=None):
    """The model's own logits at the last token, with the residual leaving LAYER replaced at TOKEN."""

    def replace(_, __, output):
        output = output.clone()
        output[:, TOKEN] = patch
        return output

    handle = model.model.layers[LAYER].register_forward_hook(replace) if patch is not None else None
    try:
        with torch.no_grad():
            return model(ids).logits[:, -1]
    finally:
        if handle is not None:
            handle.remove()


def test_recovery_and_iia_are_those_of_a_plain_forward_pass(lab, pairs):
    model, tokenizer = lab.network.model, lab.tokenizer
    task = pairs.task
    texts = {side: [task.prompt(getattr(e, side)) for e in pairs.examples] for side in ("clean", "corrupted")}
    ids = {side: tokenizer(text, return_tensors="pt").input_ids for side, text in texts.items()}
    with torch.no_grad():
        source = model(ids["clean"], output_hidden_states=True).hidden_states[LAYER + 1][:, TOKEN]
    r, b = (torch.tensor([tokenizer(str(getattr(e, name))).input_ids[0] for e in pairs.examples]) for name in "rb")

    def pld(logits):
        return (logits.gather(1, r[:, None]) - logits.gather(1, b[:, None]))[:, 0].double()

    clean, corrupted = (pld(plain_logits(model, ids[side])) for side in ("clean", "corrupted"))
    patched = plain_logits(model, ids["corrupted"], source)
    recovery = (pld(patched) - corrupted) / (clean - corrupted)
    scores = score(pairs, [[swap(resid(LAYER).at("y1"), pairs.clean)]])
    assert scores.recovery[0].std() > 0.01
    assert torch.allclose(scores.recovery[0], recovery, atol=1e-3, rtol=1e-3)
    assert torch.equal(scores.hit[0], patched.argmax(-1) == r)
    assert scores.hit[0].any()
    assert scores.pooled().mean == pytest.approx(
        float((pld(patched) - corrupted).mean() / (clean - corrupted).mean()), abs=1e-4
    )
    rows = scores.rows([{"patch": "full"}])
    assert [row["metric"] for row in rows] == ["iia", "pr", "pooled"]
    assert rows[0]["nonpositive"] == int((clean <= corrupted).sum())


def test_no_patch_scores_nothing(lab, pairs):
    scores = score(pairs, [[]])
    assert scores.pooled().mean == 0
    assert not scores.hit.any()


def test_a_part_of_pairs_scores_as_in_the_whole(lab, pairs):
    part = pairs.part(slice(5, 9))
    whole = score(pairs, [[swap(resid(2).at("y2"), pairs.clean)]]).pld[0, 5:9]
    assert torch.allclose(score(part, [[swap(resid(2).at("y2"), part.clean)]]).pld[0], whole, atol=1e-4)


def test_das_finds_the_direction_and_random_ones_do_nothing(lab, pairs):
    task, site = pairs.task, resid(LAYER).at("y1")
    fitting = record_pairs(lab, task, perturb(task, pool(task).fitting[:32], "y1"))
    fits = fit(fitting, site, seeds=(1, 2), steps=60)
    assert all(found.losses[-1] < 0.5 * found.losses[0] for found in fits)
    one, other = (found.subspace.basis[:, 0] for found in fits)
    assert abs(float(one @ other)) > 0.5  # a random pair of directions in 128 dimensions: about 0.1
    spaces = [fits[0].subspace, *random_subspaces(lab.network.d_model, 1, 2)]
    scores = score(pairs, [[swap(site, pairs.clean, space)] for space in spaces])
    assert scores.iia(0).lo > 0.6
    assert max(scores.iia(i).mean for i in (1, 2)) < 0.2
    assert fits[0].subspace.provenance["model"] == lab.loaded.fingerprint


def test_fits_from_one_seed_are_the_same_alone_and_together(lab, pairs):
    part, site = pairs.part(slice(0, 8)), resid(LAYER).at("y1")
    together = fit(part, site, seeds=(3, 4), steps=5)
    alone = fit(part, site, seeds=(4,), steps=5)
    assert torch.allclose(together[1].subspace.basis, alone[0].subspace.basis, atol=1e-4)


def test_estimates():
    values = torch.tensor([0.0, 1.0, 1.0, 2.0]).double()
    found = mean(values)
    assert (found.mean, found.n) == (1.0, 4)
    assert found.se == pytest.approx(float(values.std()) / 2)
    assert found.lo < 1 < found.hi
    assert ratio(values, torch.full((4,), 2.0)).mean == 0.5
    # One denominator near zero wrecks the mean of ratios, not the ratio of means.
    denominator = torch.tensor([1.0, 1.0, 1.0, -1e-6]).double()
    assert abs(float((values / denominator).mean())) > 1e5
    assert ratio(values, denominator).mean == pytest.approx(4 / 3, rel=1e-3)
    with pytest.raises(NumberlineError, match="no examples"):
        mean(torch.zeros(0))
    assert wilson([True] * 10).lo < 1


def test_bootstrap_intervals_cover():
    generator = torch.Generator().manual_seed(0)
    covered = 0
    for _ in range(100):
        found = mean(torch.randn(50, generator=generator, dtype=torch.float64) + 3)
        covered += found.lo <= 3 <= found.hi
    assert 85 <= covered <= 100


def test_fits_of_several_cases_in_one_batch_are_the_fits_of_each(lab):
    """Cases of different sizes share a batch; each learns what it would learn alone, from the same start."""
    task, site = Task(), resid(2).at("y2")
    cases = [
        record_pairs(lab, task, perturb(task, pool(task).fitting[:n], case)) for case, n in (("y1", 12), ("y2", 8))
    ]
    together = fit_cases(cases, site, seeds=(1, 2), steps=5)
    for i, seed in enumerate((1, 2)):
        for j, pairs in enumerate(cases):
            (alone,) = fit(pairs, site, seeds=(seed,), steps=5)
            assert torch.allclose(together[i][j].losses, alone.losses, atol=1e-5)
            assert torch.allclose(together[i][j].subspace.basis, alone.subspace.basis, atol=1e-4)
            assert together[i][j].subspace.provenance == alone.subspace.provenance
    assert not torch.allclose(together[0][0].subspace.basis, together[0][1].subspace.basis, atol=1e-2)


def test_a_fit_ends_when_its_loss_has(lab, pairs):
    part, site, told = pairs.part(slice(0, 8)), resid(LAYER).at("y1"), []
    (whole,) = fit(part, site, steps=60)
    (ended,) = fit(part, site, steps=60, patience=5, progress=told.append)
    made = len(told)
    assert 5 < made < 60
    assert sum(told) == 60, "steps that are not made are done"
    assert torch.equal(ended.losses[:made], whole.losses[:made])
    assert ended.losses.shape == whole.losses.shape
    assert set(ended.losses[made:].tolist()) == {float(ended.losses[made - 1])}
    falling, flat = torch.linspace(0.6, 0.1, 20), torch.full((20,), 0.3)
    assert not das._ended(torch.stack([flat, falling]), 5), "one of two still falls"
    assert das._ended(torch.stack([flat, flat]), 5)
    assert not das._ended(flat + 0.6, 5), "b is still ahead of r: it may be a plateau"


def test_a_stuck_fit_begins_again_at_the_mean_difference(lab, pairs):
    part, site = pairs.part(slice(0, 8)), resid(LAYER).at("y1")
    (alone,) = fit(part, site, seeds=(1,), steps=1)
    assert alone.stuck
    (again,) = fit_with_restart([part], site, seed=1, steps=1)
    assert again.losses[-1] < alone.losses[-1]
    assert again.given_up == pytest.approx(float(alone.losses[-1]), abs=1e-4)
    assert again.subspace.provenance["method"] == "DAS, from the mean difference"
    assert abs(float((again.subspace.basis * mean_difference(part, site)).sum())) > 0.9
    assert f"a random start ended at a loss of {again.given_up:.2f}" in again.remark


@pytest.mark.parametrize(
    ("losses", "kept", "told"),
    [
        ((9.0, 0.6, 0.1), 0.6, ""),  # the answers change: made once
        ((0.01, 0.01, 9.0), 0.01, ""),  # nothing was left to gain
        ((9.0, 4.0, 2.0), 2.0, ", from the mean difference (a random start ended at a loss of 4.00); b stays ahead"),
        ((9.0, 4.0, 0.3), 0.3, ", from the mean difference (a random start ended at a loss of 4.00)"),
        ((0.8, 0.75, 0.76), 0.75, "; b stays ahead of r"),  # the second is no better
        ((0.8, 0.75, float("nan")), 0.75, "; b stays ahead of r"),  # the states do not differ
    ],
)
def test_the_better_of_two_starts_is_kept(lab, pairs, monkeypatch, losses, kept, told):
    """Of (first, last, last of the second start): whether there is a second start, and which one is kept."""

    def made_up(cases, site, starts=(), **_):
        ends = (losses[0], losses[2]) if starts else losses[:2]
        return [[Fit(random_subspaces(128, 1, 1)[0], torch.tensor(ends)) for _ in cases]]

    monkeypatch.setattr(das, "fit_cases", made_up)
    (found,) = fit_with_restart([pairs], resid(LAYER).at("y1"))
    assert float(found.losses[-1]) == pytest.approx(kept)
    assert found.remark.startswith(told)
    assert bool(found.remark) == bool(told)
