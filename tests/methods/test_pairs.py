"""Pairs of the user's own texts, not about numbers: scored, traced and fitted as a plain forward pass says."""

import pytest
import torch

import numberline
from numberline.engine.edits import freeze, swap
from numberline.engine.prompts import Prompts
from numberline.engine.sites import attn, head, mid, neurons, resid
from numberline.errors import NumberlineError
from numberline.methods.attribution import attribute
from numberline.methods.das import fit, fit_cases, random_subspaces
from numberline.methods.draws import draw_rows
from numberline.methods.freezing import cost, freeze_neurons, freeze_sites
from numberline.methods.heads import sweep_heads
from numberline.methods.pairs import Pairs, join
from numberline.methods.probes import held_out, probe_everywhere
from numberline.methods.scores import score
from numberline.methods.trace import trace

CLEAN = ["Mary gave it. The giver is", "John gave it. The giver is", "Kate gave it. The giver is"]
CORRUPTED = ["Paul gave it. The giver is", "Mary gave it. The giver is", "John gave it. The giver is"]
ANSWERS = [(" M", " P"), (" J", " M"), (" K", " J")]
GIVER = ({"giver": ["Mary", "John", "Kate"], "it": "it"}, {"giver": ["Paul", "Mary", "John"], "it": "it"})


@pytest.fixture(scope="module")
def lab():
    return numberline.load("tiny", dtype="float64")


@pytest.fixture(scope="module")
def pairs(lab) -> Pairs:
    return Pairs.of(lab, CLEAN, CORRUPTED, GIVER, [(a.strip(), b.strip()) for a, b in ANSWERS], "the giver changed")


def plain(lab, ids, layer=None, token=None, states=None):
    """Logits at the last token of a plain forward pass, and the residuals leaving each layer; one may be replaced."""
    model, seen = lab.network.model, {}

    def hook(number):
        def change(_, __, out):
            hidden = (out[0] if isinstance(out, tuple) else out).clone()
            if number == layer:
                hidden[:, token] = states
            seen[number] = hidden
            return (hidden, *out[1:]) if isinstance(out, tuple) else hidden

        return change

    handles = [block.register_forward_hook(hook(number)) for number, block in enumerate(model.model.layers)]
    try:
        with torch.no_grad():
            return model(ids).logits[:, -1], seen
    finally:
        for handle in handles:
            handle.remove()


def test_both_sides_have_one_layout(lab, pairs):
    tokenizer = lab.tokenizer
    assert len(pairs) == 3
    assert pairs.positions["giver"] == 3
    for side, names in ((pairs.clean, GIVER[0]["giver"]), (pairs.corrupted, GIVER[1]["giver"])):
        assert [tokenizer.decode(ids[:4]) for ids in side.prompts.ids.tolist()] == names
    assert pairs.answers.tolist() == [tokenizer.convert_tokens_to_ids(list(each)) for each in ("MP", "JM", "KJ")]


def test_scores_are_those_of_a_plain_forward_pass(lab, pairs):
    layer, token, rows = 1, pairs.positions["giver"], torch.arange(3)
    clean, states = plain(lab, pairs.clean.prompts.ids)
    corrupted, _ = plain(lab, pairs.corrupted.prompts.ids)
    patched, _ = plain(lab, pairs.corrupted.prompts.ids, layer, token, states[layer][:, token])
    wanted, other = pairs.answers.T
    plds = [logits[rows, wanted] - logits[rows, other] for logits in (clean, corrupted, patched)]
    scores = score(pairs, [[swap(resid(layer).at("giver"), pairs.clean)]])
    assert (plds[2] - plds[1]).abs().max() > 1e-3, "the patch moves something"
    assert torch.allclose(pairs.scale, plds[0] - plds[1])
    assert torch.allclose(scores.pld[0], plds[2])
    assert torch.allclose(scores.recovery[0], (plds[2] - plds[1]) / (plds[0] - plds[1]))
    assert scores.hit[0].tolist() == (patched.argmax(1) == wanted).tolist()


def test_the_trace_restores_every_layer_and_token(lab, pairs):
    found = trace(pairs)
    assert [token.token for token in found.tokens] == list(range(pairs.clean.length)), (
        "nothing is shared from the start"
    )
    assert {token.position: token.token_text for token in found.tokens}["giver"] == "y"
    (alone_token,) = [token for token in found.tokens if token.position == "it"]
    few = trace(pairs, layers=[1], tokens=[alone_token])
    assert torch.allclose(few.scores.pld[0], found.scores.pld[len(found.tokens) + alone_token.token])
    place = 2 * len(found.tokens) + pairs.positions["giver"]
    alone = score(pairs, [[swap(resid(2).at("giver"), pairs.clean)]])
    assert torch.allclose(found.scores.pld[place], alone.pld[0])
    assert found.grid().shape == (lab.network.n_layers, len(found.tokens))
    assert found.grid()[2, pairs.positions["giver"]] == pytest.approx(alone.pooled().mean)
    assert found.grid()[-1, -1] == pytest.approx(1), "the whole last state is the clean answer"
    assert len(found.rows) == 3 * lab.network.n_layers * len(found.tokens)


def test_the_heads_are_swept_alone_and_together(lab, pairs):
    beside = swap(resid(0).at("giver"), pairs.clean)
    found = sweep_heads(pairs, 1, "giver", [beside], alone=True)
    heads = lab.network.n_heads
    assert [row["condition"] for row in found.rows() if row["metric"] == "pr"] == [
        "baseline", *["together"] * heads, *["alone"] * heads
    ]  # fmt: skip
    one = swap(head(1, 2).at("giver"), pairs.clean)
    both = score(pairs, [[beside], [beside, one], [one]])
    assert torch.allclose(found.scores.pld[[0, 3, heads + 3]], both.pld)
    gained = (both.pld[1] - both.pld[0]).mean() / pairs.scale.mean()
    assert found.excess[2]["mean"] == pytest.approx(float(gained))
    plain_sweep = sweep_heads(pairs, 1, "giver")
    assert torch.allclose(plain_sweep.scores.pld[0], pairs.corrupted_pld), (
        "without edits the baseline is the corrupted run"
    )


def test_das_attribution_and_controls_take_pairs(lab, pairs):
    site = resid(1).at("giver")
    (found,) = fit(pairs, site, steps=4)
    assert found.losses[-1] < found.losses[0]
    assert found.subspace.provenance["data"] == "3 examples, the giver changed"
    drawn = random_subspaces(lab.network.d_model, 1, 2)
    conditions = {"learned": [[swap(site, pairs.clean, found.subspace)]]}
    conditions["random"] = [[swap(site, pairs.clean, space)] for space in drawn]
    rows = draw_rows(pairs, conditions, {})
    assert [row["draws"] for row in rows] == [1, 1, 1, 2, 2, 2]
    scores = attribute(pairs, lambda part: [swap(mid(1).at("giver"), part.clean)], [1, 2], "giver")
    assert scores.abs().max() > 0


def test_freezing_takes_pairs(lab, pairs):
    site, later = resid(1).at("giver"), attn(2).at("last")

    def patch(some):
        return [swap(site, some.clean)]

    frozen = freeze_sites(pairs, patch, [[], [later]])
    again = score(pairs, [patch(pairs), [*patch(pairs), freeze(later)]])
    assert torch.equal(frozen.pld, again.pld)
    assert not torch.allclose(frozen.pld[0], frozen.pld[1])
    lost = (frozen.pld[0] - frozen.pld[1]).mean() / pairs.scale.mean()
    assert cost(frozen, 1).mean == pytest.approx(float(lost))
    everything = [(3, number) for number in range(lab.network.d_mlp)]
    some = freeze_neurons(pairs, patch, [[], everything], "last")
    whole = freeze_sites(pairs, patch, [[], [neurons(3).at("last")]])
    assert torch.allclose(some.pld, whole.pld)
    assert not torch.allclose(some.pld[0], some.pld[1])


def test_probes_read_the_users_prompts(lab):
    """Which of two letters the giver begins with is known from its first token on, and nowhere before."""
    texts = [f"So {first}{last} gave it" for first in "MP" for last in ("ary", "aty", "ova", "eta", "yra", "uky")]
    prompts = Prompts.of(lab.tokenizer, texts, {"giver": (3, 7)})
    begins = torch.tensor([1.0] * 6 + [-1.0] * 6)
    number = torch.arange(12.0)
    held = held_out(12, seed=1, together=3)
    assert held.tolist() == held.reshape(-1, 3)[:, :1].expand(-1, 3).flatten().tolist()
    assert 0 < int(held.sum()) < 12
    rows = probe_everywhere(lab, prompts, {"begins": begins, "number": number}, held)
    assert {row["target"] for row in rows} == {"begins", "number"}
    assert {row["token"] for row in rows} == set(range(prompts.prefix, prompts.ids.shape[1]))
    first = [row for row in rows if (row["target"], row["position"], row["layer"]) == ("begins", "giver.first", 0)]
    assert first[0]["mean"] == 1, "a target of ±1 is scored by its accuracy"


def test_pairs_join_and_part(lab, pairs):
    parts = [pairs.part(slice(0, 1)), pairs.part(slice(1, 3))]
    whole, site = join(parts, 1), resid(1).at("giver")
    assert torch.equal(whole.answers, pairs.answers)
    assert torch.equal(whole.clean.prompts.ids, pairs.clean.prompts.ids)
    assert torch.allclose(score(whole, [[swap(site, whole.clean)]]).pld, score(pairs, [[swap(site, pairs.clean)]]).pld)
    ((first, second),) = fit_cases(parts, site, steps=2)
    assert first.subspace.basis.shape == second.subspace.basis.shape == (lab.network.d_model, 1)


def test_answers_are_words_or_tokens_for_all_or_for_each(lab):
    words = Pairs.of(lab, CLEAN, CORRUPTED, {}, ("M", "P"))
    ids = [tuple(lab.tokenizer.convert_tokens_to_ids(["M", "P"]))]
    assert torch.equal(words.answers, Pairs.of(lab, CLEAN, CORRUPTED, {}, ids * 3).answers)
    assert torch.equal(words.answers, Pairs.of(lab, CLEAN, CORRUPTED, {}, ids[0]).answers)
    assert torch.equal(words.answers, Pairs.of(lab, CLEAN, CORRUPTED, {}, torch.tensor(ids * 3)).answers)
    assert list(words.positions) == ["last"]


def test_what_all_texts_begin_with_runs_once(lab):
    shared = Pairs.of(lab, ["It is Mary. It is"], ["It is Paul. It is"], {"name": (6, 10)}, ("M", "P"))
    assert shared.clean.prompts.prefix == shared.corrupted.prompts.prefix > 0
    assert shared.clean.prefix["resid", 0] is shared.corrupted.prefix["resid", 0]
    alone = Prompts.of(lab.tokenizer, ["It is Mary. It is"])
    logits, _ = plain(lab, alone.ids)
    assert float(shared.clean_pld) == pytest.approx(
        float(logits[0, shared.answers[0, 0]] - logits[0, shared.answers[0, 1]])
    )


@pytest.mark.parametrize(
    ("clean", "corrupted", "positions", "answers", "sentence"),
    [
        (CLEAN, CORRUPTED[:2], {}, ("M", "P"), "3 clean and 2 corrupted texts make no pairs"),
        ([], [], {}, ("M", "P"), "0 clean and 0 corrupted"),
        (CLEAN, CORRUPTED, ({"a": 0}, {"b": 0}), ("M", "P"), "the position 'a' is named on one side only"),
        (CLEAN, CORRUPTED, {"a": [1, 2]}, ("M", "P"), "the position 'a' has 2 places for 3 texts"),
        (CLEAN, CORRUPTED, {}, [("M", "P")], "answers for 1 examples were given, but there are 3"),
        (CLEAN, CORRUPTED, {}, ("Mary", "Mark"), "'Mary' and 'Mark' of example 1 begin with the same token"),
        (CLEAN, CORRUPTED, {}, (5, 10**6), "the answer tokens 5 and 1000000, but the model has tokens 0 to"),
        (CLEAN, ["Ann gave it. The giver is"] * 3, {}, ("M", "P"), r"prompt 4 \('Ann .*'\) has the token layout"),
    ],
)  # fmt: skip
def test_what_makes_no_pairs_is_refused(lab, clean, corrupted, positions, answers, sentence):
    with pytest.raises(NumberlineError, match=sentence):
        Pairs.of(lab, clean, corrupted, positions, answers)
