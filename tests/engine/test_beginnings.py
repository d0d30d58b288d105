"""Activations of a grid of prompts, each distinct beginning run once, are those of the plain forward pass."""

import torch

from numberline.engine import prefix_tree
from numberline.engine.prefix_tree import segments
from numberline.engine.sites import EVERYWHERE, attn, head, mid, mlp, neurons, pattern, resid
from numberline.tasks import Task, encode

TASK = Task(k=3)
GRID = [(y1, y2, y3) for y1 in (13, 17, 82) for y2 in (24, 29) for y3 in (55, 31, 58)]


def test_segments_hold_each_distinct_beginning_once():
    ids = torch.tensor([[7, 1, 2, 9], [7, 1, 3, 9], [7, 4, 2, 9], [7, 1, 2, 8]])
    found = segments(ids)
    assert [(part.start, part.stop, len(part)) for part in found] == [(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 4, 4)]
    for before, part in zip([None, *found], found, strict=False):
        whole = ids[:, : part.stop]
        assert torch.equal(whole[part.prompt][part.of], whole)  # a prompt's row begins as the prompt does
        assert len(whole.unique(dim=0)) == len(part)
        if before is not None:
            assert torch.equal(before.of[part.prompt], part.parent)
    assert [(part.start, part.stop) for part in segments(ids[:1])] == [(0, 4)]
    assert [len(part) for part in segments(ids[[0, 0]])] == [1]


def sites(network):
    middle = [] if network.parallel else [mid(1).at("y3")]
    return [
        *middle,
        resid(-1).at(("y1.first", "y3")),
        resid(2).at("last"),
        resid(0).at(EVERYWHERE),
        neurons(1, (5, 3)).at("y2"),
        neurons(2).at("y3"),
        head(1, 2).at("y3"),
        attn(2).at("y1"),
        mlp(0).at("y3.first"),
    ]


def plain(bench, prompts, site):
    """The site's values in a plain forward pass of every prompt."""
    found: dict = {}
    with torch.no_grad():
        bench.oracle.logits(prompts.ids, found=found)
    tokens = list(site.tokens(prompts.positions, prompts.ids.shape[1]))
    if site.kind.name == "head":
        return bench.oracle.head(site.layer, site.index[0], found["z", site.layer])[:, tokens]
    value = found[site.kind.name, site.layer][:, tokens]
    return value[..., list(site.index)] if site.index else value


def test_activations_are_those_of_a_plain_forward_pass(double_bench):
    lab, prompts = double_bench.lab, encode(double_bench.lab.tokenizer, TASK, GRID)
    chosen = sites(lab.network)
    for site, got in zip(chosen, lab.activations(prompts, chosen), strict=True):
        want = plain(double_bench, prompts, site)
        assert float(want.std(0).max()) > 0 or site.kind.name == "resid"
        assert double_bench.close(got, want), site


def test_attention_weights_are_those_of_a_recording(double_bench):
    lab, prompts = double_bench.lab, encode(double_bench.lab.tokenizer, TASK, GRID)
    chosen = [pattern(1, 3).at("last"), pattern(2, 0).at(("y2", "y3"))]
    recording = lab.record(prompts)
    for site, got in zip(chosen, lab.activations(prompts, chosen), strict=True):
        assert double_bench.close(got, recording.value(site))


def test_small_batches_and_shuffled_prompts_give_the_same(qwen_bench, monkeypatch):
    lab = qwen_bench.lab
    prompts, site = encode(lab.tokenizer, TASK, GRID), neurons(2, (1,)).at("y3")
    (whole,) = lab.activations(prompts, [site])
    monkeypatch.setattr(prefix_tree, "HELD", 1)
    assert qwen_bench.close(lab.activations(prompts, [site])[0], whole)
    monkeypatch.undo()
    order = torch.randperm(len(prompts), generator=torch.Generator().manual_seed(0)).tolist()
    assert qwen_bench.close(lab.activations(prompts[order], [site])[0], whole[order])


def test_a_grid_runs_each_beginning_once(qwen_bench, monkeypatch):
    """Counted at the embedding: as many tokens as there are distinct beginnings, one for each of its ends."""
    lab, seen = qwen_bench.lab, []
    embed = type(lab.network).embed

    def counted(self, ids, start):
        seen.append(ids.numel())
        return embed(self, ids, start)

    monkeypatch.setattr(type(lab.network), "embed", counted)
    prompts = encode(lab.tokenizer, TASK, GRID)
    lab.activations(prompts, [neurons(1, (0,)).at("y3")])
    distinct = sum(len(prompts.ids[:, : token + 1].unique(dim=0)) for token in range(prompts.positions["y3"] + 1))
    assert sum(seen) == distinct < prompts.ids[:, : prompts.positions["y3"] + 1].numel() / 3
