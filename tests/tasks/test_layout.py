"""Where the operands stand in the tokens, in every family of tokenizers, and which token an answer begins with."""

import pytest
import tokenizer_zoo
import torch
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from numberline.errors import NumberlineError
from numberline.tasks import MAX, MIN, Task, answer_tokens, check_distinct_answers, encode

PAPER_LAYOUTS = [
    (Task(k=2, digits=2), [(60, 10), (33, 99)], 36, {"y1": 29, "y2": 33}),
    (Task(k=2, digits=3), [(601, 100), (333, 999)], 38, {"y1": 30, "y2": 35}),
    (Task(k=3, digits=2), [(60, 10, 44), (33, 99, 10)], 46, {"y1": 35, "y2": 39, "y3": 43}),
]
TASKS = [Task(kind, k, digits) for kind in (MAX, MIN) for k, digits in ((2, 2), (2, 3), (3, 2), (5, 2))]


def some_operands(task: Task) -> list[tuple[int, ...]]:
    step = len(task.values) // 9
    return [
        tuple(task.values[(i * step + j * 7 * step + i) % len(task.values)] for j in range(task.k)) for i in range(9)
    ]


@pytest.mark.parametrize(("task", "operands", "length", "positions"), PAPER_LAYOUTS)
@pytest.mark.parametrize("name", ["qwen", "builtin"])
def test_layouts_of_the_paper(name, task, operands, length, positions) -> None:
    prompts = encode(getattr(tokenizer_zoo, name)(), task, operands)
    assert prompts.ids.shape == (len(operands), length)
    assert prompts.ids.dtype == torch.long
    assert prompts.positions["last"] == length - 1
    assert {operand: prompts.positions[operand] for operand in task.operands} == positions
    assert all(prompts.positions[f"{y}.first"] == prompts.positions[y] - task.digits + 1 for y in task.operands)
    assert prompts.prefix == positions["y1"] - task.digits + 1


def test_the_small_qwen_tokenizer_gives_qwens_own_ids() -> None:
    """As the whole vocabulary does (see `tokenizer_zoo.QWEN_TOKENS`): words are single tokens, and so is each digit."""
    ids = tokenizer_zoo.qwen()(Task().prompt((60, 10)))["input_ids"]
    words = [16141, 304, 279, 2701, 3561, 448, 264, 3175, 4226, 13]
    stem, space, conjunction, copula, stop = [576, 7192, 315], 220, 323, 374, 13
    exemplar = [*stem, space, 16, 17, conjunction, space, 19, copula, space, 16, 17, stop]
    assert ids == [*words, *exemplar, *stem, space, 21, 15, conjunction, space, 16, 15, copula, space]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.concept.name}-{task.k}-{task.digits}")
def test_every_family_finds_the_operands(tokenizer: PreTrainedTokenizerFast, task: Task) -> None:
    rows = some_operands(task)
    prompts = encode(tokenizer, task, rows)
    at = prompts.positions
    for ids, text, row in zip(prompts.ids.tolist(), prompts.texts, rows, strict=True):
        for operand, value in zip(task.operands, row, strict=True):
            assert tokenizer.decode(ids[at[f"{operand}.first"] : at[operand] + 1]).strip() == str(value)
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
        assert ids[-1] not in tokenizer.all_special_ids
    order = [at[name] for operand in task.operands for name in (f"{operand}.first", operand)]
    assert order == sorted(order)
    assert at["last"] == prompts.ids.shape[1] - 1 > at[task.operands[-1]]


def test_whole_numbers_are_one_token_and_digits_are_not() -> None:
    spans = {}
    for name in ("builtin", "llama3", "gpt2", "llama2", "metaspace_whole"):
        at = encode(getattr(tokenizer_zoo, name)(), Task(digits=3), [(601, 100)]).positions
        spans[name] = at["y1"] - at["y1.first"] + 1
    assert spans == {"builtin": 3, "llama3": 1, "gpt2": 1, "llama2": 3, "metaspace_whole": 1}


def test_the_prefix_does_not_depend_on_the_batch(tokenizer: PreTrainedTokenizerFast) -> None:
    """Batches whose operands happen to begin alike share no more tokens than any others."""
    for task in (Task(), Task(k=3)):
        alike = encode(tokenizer, task, [(91, *[10] * (task.k - 1)), (92, *[10] * (task.k - 1))])
        other = encode(tokenizer, task, [(25, *[33] * (task.k - 1))])
        assert alike.prefix == other.prefix == alike.positions["y1.first"]
        assert torch.equal(alike.ids[:1, : alike.prefix], other.ids[:, : other.prefix])
        assert not torch.equal(alike.ids[:1, : alike.prefix + 1], other.ids[:, : other.prefix + 1])


def test_special_tokens_at_the_start_stay_and_at_the_end_go() -> None:
    llama, gpt, ends = tokenizer_zoo.llama3(), tokenizer_zoo.gpt2(), tokenizer_zoo.gpt2_with_eos()
    assert (encode(llama, Task(), [(60, 10)]).ids[:, 0] == llama.bos_token_id).all()
    assert ends("60")["input_ids"][-1] == ends.eos_token_id
    assert torch.equal(encode(ends, Task(), [(60, 10)]).ids, encode(gpt, Task(), [(60, 10)]).ids)


def test_parts_of_a_batch(tokenizer: PreTrainedTokenizerFast) -> None:
    rows = [(60, 10), (33, 99), (45, 12), (71, 20)]
    whole = encode(tokenizer, Task(), rows)
    for part, kept in ((whole[1:3], [1, 2]), (whole[[3, 0]], [3, 0]), (whole[:0], [])):
        assert len(part) == len(kept)
        assert part.texts == tuple(whole.texts[i] for i in kept)
        assert torch.equal(part.ids, whole.ids[kept])
        assert (part.positions, part.prefix) == (whole.positions, whole.prefix)


def test_answer_tokens_are_what_the_prompt_is_continued_by(tokenizer: PreTrainedTokenizerFast) -> None:
    """Glued to the prompt, the answer's own tokens spell prompt and answer: no space is doubled and none is lost."""
    for task in (Task(), Task(digits=3), Task(MIN)):
        values = [task.values[i] for i in (0, 7, 35, -1)]
        prompt = encode(tokenizer, task, [task.values[:2]])
        for value, token in zip(values, answer_tokens(tokenizer, task, values).tolist(), strict=True):
            spelled = tokenizer.decode([*prompt.ids[0].tolist(), token], skip_special_tokens=True)
            assert spelled.startswith(prompt.texts[0])
            assert str(value).startswith(spelled[len(prompt.texts[0]) :])
            assert len(spelled) > len(prompt.texts[0])


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("builtin", ["6", "1", "6"]),
        ("smollm", ["6", "1", "6"]),
        ("llama2", ["6", "1", "6"]),
        ("gemma", ["6", "1", "6"]),
        ("llama3", ["60", "10", "61"]),
        ("gpt2", ["60", "10", "61"]),
        ("gpt2_with_eos", ["60", "10", "61"]),
        ("metaspace_whole", ["60", "10", "61"]),
    ],
)
def test_answer_tokens_by_family(name: str, tokens: list[str]) -> None:
    tokenizer = getattr(tokenizer_zoo, name)()
    assert tokenizer.convert_ids_to_tokens(answer_tokens(tokenizer, Task(), [60, 10, 61])) == tokens


def test_answers_that_begin_alike_are_refused() -> None:
    digits, whole = tokenizer_zoo.builtin(), tokenizer_zoo.llama3()
    check_distinct_answers(digits, Task(), [(60, 10, 60), (61, 10)])
    check_distinct_answers(whole, Task(), [(60, 61)])
    with pytest.raises(NumberlineError, match="example 2 holds 60 and 61, whose answers begin with the same token"):
        check_distinct_answers(digits, Task(), [(60, 10), (60, 61)])


def test_layouts_that_differ_are_refused() -> None:
    with pytest.raises(NumberlineError, match=r"prompt 3 \('….*The maximum of 33 and 99 is '\) has the token layout"):
        encode(tokenizer_zoo.uneven(), Task(), [(60, 70), (99, 88), (33, 99)])
    with pytest.raises(NumberlineError, match=r"prompt 2 \('….*The maximum of 100 and 10 is '\)"):
        encode(tokenizer_zoo.builtin(), Task(), [(60, 10), (100, 10)])
    assert len(encode(tokenizer_zoo.uneven(), Task(), [(60, 70), (99, 88)])) == 2


def test_a_prefix_that_is_not_shared_is_refused_even_in_a_batch_of_one() -> None:
    tokenizer = tokenizer_zoo.unstable_prefix()
    assert len(encode(tokenizer, Task(), [(60, 10)])) == 1
    with pytest.raises(NumberlineError, match=r"prompt 1 \('….*The maximum of 90 and 10 is '\) does not begin"):
        encode(tokenizer, Task(), [(90, 10)])


def test_numbers_glued_to_their_neighbours_are_refused() -> None:
    tokenizer = tokenizer_zoo.glued()
    assert len(encode(tokenizer, Task(), [(60, 10)])) == 1
    with pytest.raises(NumberlineError, match=r"glues y1='60' of prompt 1 .* as '60,'"):
        encode(tokenizer, Task(k=3), [(60, 10, 44)])


def test_a_tokenizer_without_offsets_is_refused() -> None:
    with pytest.raises(NumberlineError, match="ByT5Tokenizer is a slow tokenizer and gives no character offsets"):
        encode(ByT5Tokenizer(), Task(), [(60, 10)])


def test_an_empty_batch_is_refused() -> None:
    with pytest.raises(NumberlineError, match="no operands were given"):
        encode(tokenizer_zoo.builtin(), Task(), [])


def test_the_marker_is_the_questions_last_occurrence() -> None:
    """An operand that also stands in the exemplar is found in the question."""
    tokenizer = tokenizer_zoo.builtin()
    prompts = encode(tokenizer, Task(), [(12, 12)])
    assert prompts.positions["y1"] == 29
