"""Any texts become prompts with named positions: each way to give one, what is shared, and what is refused."""

import pytest
import torch
from benches import cached_bench
from transformers import AutoTokenizer, ByT5Tokenizer

from numberline.engine.edits import swap
from numberline.engine.lab import Read
from numberline.engine.prompts import Prompts, first_tokens
from numberline.engine.sites import resid
from numberline.errors import NumberlineError
from numberline.models.catalogue import BUILT_IN

TEXTS = ["Mary and John met. John gave it to", "Mary and Paul met. Mary gave it to"]


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(BUILT_IN / "tiny")


def words(tokenizer, prompts: Prompts, name: str) -> list[str]:
    first, last = prompts.positions[f"{name}.first"], prompts.positions[name]
    return [tokenizer.decode(ids[first : last + 1]).strip() for ids in prompts.ids.tolist()]


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("met", ["met", "met"]),
        (["John", "Mary"], ["John", "Mary"]),
        ((9, 13), ["John", "Paul"]),
        ([(9, 13), (9, 13)], ["John", "Paul"]),
        ([(19, 23), "Mary"], ["John", "Mary"]),
    ],
    ids=["substring", "substrings", "characters", "characters each", "mixed"],
)
def test_a_position_is_found_by_substring_or_by_characters(tokenizer, where, found) -> None:
    prompts = Prompts.of(tokenizer, TEXTS, {"it": where})
    assert words(tokenizer, prompts, "it") == found
    assert prompts.positions["it"] > prompts.positions["it.first"], "several tokens have a first and a last"
    assert prompts.positions["last"] == prompts.ids.shape[1] - 1


def test_the_last_occurrence_of_a_substring_counts(tokenizer) -> None:
    both = Prompts.of(tokenizer, TEXTS[:1], {"first": (9, 13), "second": "John"})
    assert words(tokenizer, both, "second") == ["John"]
    assert both.positions["second"] > both.positions["first"]


def test_a_position_is_given_by_its_token(tokenizer) -> None:
    prompts = Prompts.of(tokenizer, TEXTS, {"third": 2, "end": -1, "each": [5, 5]})
    length = prompts.ids.shape[1]
    assert dict(prompts.positions) == {
        "third.first": 2, "third": 2, "end.first": length - 1, "end": length - 1, "each.first": 5, "each": 5,
        "last": length - 1,
    }  # fmt: skip


def test_what_all_prompts_begin_with_is_shared(tokenizer) -> None:
    prompts = Prompts.of(tokenizer, TEXTS)
    assert tokenizer.decode(prompts.ids[0, : prompts.prefix].tolist()) == "Mary and "
    assert prompts.ids[0, prompts.prefix] != prompts.ids[1, prompts.prefix]
    alone = Prompts.of(tokenizer, TEXTS[:1])
    assert alone.prefix == alone.ids.shape[1] - 1, "the last token is never shared"


def test_prompts_of_one_layout_join(tokenizer) -> None:
    whole = Prompts.of(tokenizer, TEXTS, {"object": "it"})
    joined = Prompts.join([whole[1:], whole[:1]])
    assert joined.texts == tuple(reversed(TEXTS))
    assert torch.equal(joined.ids, whole.ids[[1, 0]])
    assert (joined.positions, joined.prefix) == (whole.positions, whole.prefix)
    with pytest.raises(NumberlineError, match="cannot join"):
        Prompts.join([whole, Prompts.of(tokenizer, TEXTS, {"object": "met"})])


@pytest.mark.parametrize(
    ("texts", "positions", "sentence"),
    [
        ([], {}, "no texts were given"),
        (["one", "three"], {}, r"prompt 2 \('three'\) has the token layout {'last': \d+}, but prompt 1 \('one'\) has"),
        (["ab cd", "abc d"], {"x": ["cd", "d"]}, "equally many tokens, or encode the two apart"),
        (["a cat"], {"x": "dog"}, r"prompt 1 \('a cat'\) does not contain x='dog'"),
        (["a cat"], {"x": ""}, "does not contain x=''"),
        (["a cat"], {"x": (2, 9)}, "has 5 characters, so 'x' cannot be those from 2 to 9"),
        (["a cat"], {"x": (3, 3)}, "cannot be those from 3 to 3"),
        (["a cat"], {"x": 5}, "has 5 tokens, so 'x' cannot be token 5"),
        (["a cat"], {"x": ["cat", "a"]}, "the position 'x' has 2 places for 1 texts"),
        (["a cat"], {"last": "cat"}, "cannot be called 'last'"),
        (["a cat"], {"x.first": "cat"}, "cannot be called 'x.first'"),
        (["The maximum"], {"x": "mum"}, r"glues x='mum' of prompt 1 \('The maximum'\) .* as ' maximum'"),
    ],
)
def test_what_cannot_be_is_refused(tokenizer, texts, positions, sentence) -> None:
    with pytest.raises(NumberlineError, match=sentence):
        Prompts.of(tokenizer, texts, positions)


def test_a_tokenizer_without_offsets_is_refused() -> None:
    with pytest.raises(NumberlineError, match="ByT5Tokenizer is a slow tokenizer and gives no character offsets"):
        Prompts.of(ByT5Tokenizer(), TEXTS)


def test_an_answer_begins_with_what_it_adds_to_its_own_text(tokenizer) -> None:
    found = first_tokens(tokenizer, ["The maximum", "it is ", "it is "], [" of", "60", "16"])
    assert tokenizer.convert_ids_to_tokens(found) == ["Ġof", "6", "1"]
    merged = first_tokens(tokenizer, ["it is "], ["the"])
    assert tokenizer.convert_ids_to_tokens(merged) == ["the"], "the text's space is not taken into the answer"


def test_an_edit_among_the_shared_tokens_is_exact() -> None:
    """Prompts of the user's own may share what is edited, which the number tasks never do."""
    bench = cached_bench("qwen2", torch.float64)
    prompts = Prompts.of(bench.lab.tokenizer, TEXTS, {"giver": "Mary and"})
    assert prompts.positions["giver"] < prompts.prefix
    site, vector = resid(0).at("giver"), torch.randn(2, 32, dtype=torch.float64)
    logits = torch.arange(306).repeat(2, 1)
    got = bench.lab.run(bench.lab.record(prompts), [swap(site, vector)], Read(logits=logits)).logits
    model, token = bench.lab.network.model, prompts.positions["giver"]

    def replace(_, __, out):
        hidden = (out[0] if isinstance(out, tuple) else out).clone()
        hidden[:, token] = vector
        return (hidden, *out[1:]) if isinstance(out, tuple) else hidden

    plain = model(prompts.ids).logits[:, -1]
    handle = model.model.layers[0].register_forward_hook(replace)
    try:
        want = model(prompts.ids).logits[:, -1]
    finally:
        handle.remove()
    assert bench.moved(want, plain)
    assert bench.close(got, want)
