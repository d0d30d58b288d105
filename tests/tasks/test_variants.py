"""The same question in other words: operands and answers stand where they are said to, for every kind of tokenizer."""

import copy

import pytest
import tokenizer_zoo
import torch
from transformers import PreTrainedTokenizerFast

from numberline.errors import NumberlineError
from numberline.tasks import MAX, MIN, Sentence, Task, Words, answer_tokens, encode, ordered
from numberline.tasks.ability import layout
from numberline.tasks.variants import FURTHER_EXAMPLES, VARIANTS

CHAT = (
    "{{ bos_token }}{% for turn in messages %}<|{{ turn['role'] }}|>\n{{ turn['content'] | trim }}\n{% endfor %}"
    "{% if date_string %}{{ date_string }}\n{% endif %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
ROWS = [(60, 10), (33, 99), (28, 72), (12, 12)]


def talking(tokenizer: PreTrainedTokenizerFast) -> PreTrainedTokenizerFast:
    """The tokenizer with a chat template, whose letters it knows."""
    other = copy.deepcopy(tokenizer)
    other.chat_template = CHAT
    return other


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("k", [2, 3])
def test_operands_are_found_in_every_prompt(tokenizer, name, k):
    task, tokenizer = Task(MAX.asked(name), k), talking(tokenizer)
    rows = [(*row, *[45] * (k - 2)) for row in ROWS]
    prompts = encode(tokenizer, task, rows)
    at = prompts.positions
    assert prompts.prefix == at["y1.first"]
    for ids, row in zip(prompts.ids.tolist(), rows, strict=True):
        for operand, value in zip(task.operands, row, strict=True):
            assert tokenizer.decode(ids[at[f"{operand}.first"] : at[operand] + 1]).strip() == str(value)
    assert at["y1.first"] <= at["y1"] < at["y2.first"] <= at["y2"] < at["last"] == prompts.ids.shape[1] - 1


@pytest.mark.parametrize("name", VARIANTS)
def test_an_answer_is_what_follows_the_prompt(tokenizer, name):
    """Glued to the prompt, the answer's token begins the answer, with the space that the prompt does not have."""
    task, tokenizer = Task(MAX.asked(name)), talking(tokenizer)
    (ids,) = encode(tokenizer, task, [(60, 10)]).ids.tolist()
    before = tokenizer.decode(ids)
    for value, token in zip((60, 10), answer_tokens(tokenizer, task, (60, 10)).tolist(), strict=True):
        said = tokenizer.decode([*ids, token]).removeprefix(before)
        assert said
        assert f"{task.gap_before_answer}{value}".startswith(said)


def test_where_the_space_is_a_token_the_prompt_without_it_is_refused():
    """Digits after a lone space: every answer would begin with that space. With numbers as one token, none would."""
    task = Task(MAX.asked("no-space"))
    with pytest.raises(NumberlineError, match="holds 10 and 20, whose answers begin with the same token"):
        layout(tokenizer_zoo.builtin(), task)
    found = layout(tokenizer_zoo.gpt2(), task)
    assert (found.single, found.values, found.first) == (90, 90, 90)
    assert layout(tokenizer_zoo.builtin(), Task()).first == 9


def test_the_same_question_in_other_words():
    start = "Answer in the following format with a single answer. "
    asked = {name: Task(MAX.asked(name)).prompt((60, 10)).removeprefix(start) for name in VARIANTS}
    assert asked["paper"] == "The maximum of 12 and 4 is 12. The maximum of 60 and 10 is "
    assert asked["no-space"] == asked["paper"].rstrip()
    assert asked["larger-of"] == "The larger of 12 and 4 is 12. The larger of 60 and 10 is "
    assert asked["few-shot"].endswith("The maximum of 41 and 59 is 59. The maximum of 60 and 10 is ")
    assert asked["few-shot"].count(" is ") == 5
    assert Task(MIN.asked("larger-of"), k=3).question((60, 10, 44)) == "The smallest of 60, 10 and 44 is "
    assert Task(MAX.asked("few-shot"), digits=3).concept.variant is VARIANTS["few-shot"]


def test_every_place_wins_in_some_example():
    for listed, k in ((False, 2), (True, 3)):
        examples = MAX.asked("few-shot").examples(listed)
        assert len(examples) == 1 + len(FURTHER_EXAMPLES)
        winners = {[int(word) for word in words].index(max(int(word) for word in words)) for words in examples}
        assert winners == set(range(k))


def test_a_conversation_is_the_templates_own():
    tokenizer = talking(tokenizer_zoo.llama3())
    task = Task(MAX.asked("chat"))
    (text,) = encode(tokenizer, task, [(60, 10)]).texts
    assert text == (
        "<|user|>\nAnswer in the following format with a single answer. The maximum of 12 and 4 is\n<|assistant|>\n12\n"
        "<|user|>\nThe maximum of 60 and 10 is\n26 Jul 2024\n<|assistant|>\n"
    )
    ids = encode(tokenizer, task, [(60, 10)]).ids[0]
    whole = tokenizer.apply_chat_template(
        task.turns((60, 10)), add_generation_prompt=True, date_string="26 Jul 2024", return_dict=False
    )
    assert torch.equal(ids, torch.tensor(whole))  # one BOS, not two


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (None, "has no chat template"),
        ("{{ raise_exception('no system role') }}", r"refuses the conversation \(no system role\)"),
        ("{{ messages[-1]['content'] | upper }}", "changes the question"),
    ],
)
def test_a_chat_that_cannot_be_is_refused(template, why):
    tokenizer = copy.deepcopy(tokenizer_zoo.builtin())
    tokenizer.chat_template = template
    with pytest.raises(NumberlineError, match=why):
        encode(tokenizer, Task(MAX.asked("chat")), [(60, 10)])


def test_a_prompt_that_says_the_same_is_none():
    words = Words("letter", larger="later", largest="latest", smaller="earlier")
    said = {
        "pair": Sentence("The later of", ("d", "k"), end=" →"),
        "several": Sentence("The latest of", ("d", "k", "g"), " →"),
    }
    assert ordered("letters", "bcdghjk", words=words, **said).prompts == ("paper", "few-shot", "chat")
    assert MAX.prompts == tuple(VARIANTS)
    with pytest.raises(NumberlineError, match="there is no prompt 'fewshot': did you mean few-shot"):
        MAX.asked("fewshot")
