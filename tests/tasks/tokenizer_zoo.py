"""One small tokenizer of each family that splits these prompts in its own way, among them Qwen2.5's own."""

import copy
from functools import cache
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

import numberline
from numberline.tasks import MAX, MIN, Task

# The part of Qwen2.5's vocabulary that its byte-pair encoding meets on the way through these prompts, with its own ids;
# the single bytes come first, in the order of GPT-2. Byte-pair encoding takes the lowest id it can make, so leaving out
# what it does not take changes nothing. The whole vocabulary (qwen.tiktoken of dashscope 2.0.2, read with tiktoken
# 0.14.0) gave the same ids for 965 prompts of both questions, of 2 to 20 operands with 1 to 4 digits, when this table
# was made.
QWEN_TOKENS = {
    "in": 258, " t": 259, "er": 261, " a": 264, "at": 266, "or": 269, " th": 270, "le": 273, " s": 274, "it": 275,
    " the": 279, " f": 282, "is": 285, "ing": 287, " w": 289, " m": 296, " o": 297, "nd": 303, " in": 304, " of": 315,
    "im": 318, " and": 323, "ol": 337, " T": 350, "ow": 363, " for": 369, "um": 372, " is": 374, "he": 383,
    "ith": 410, " with": 448, " an": 458, " The": 576, "ax": 706, "oll": 965, " min": 1308, " form": 1352,
    "ollow": 1544, " follow": 1795, " max": 1932, "An": 2082, "ingle": 2173, "sw": 2280, " following": 2701,
    " single": 3175, "imum": 3295, "swer": 3559, " format": 3561, " answer": 4226, " maximum": 7192, " minimum": 8028,
    "Answer": 16141,
}  # fmt: skip
QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3_PATTERN = QWEN_PATTERN.replace(r"|\p{N}|", r"|\p{N}{1,3}|")


@cache
def qwen() -> PreTrainedTokenizerFast:
    """Qwen2.5's tokenizer on these prompts: digit by digit, the space before a number alone, every word one token.

    A token's merge is the last step of byte-pair encoding its own bytes.
    """
    letters = bytes_to_unicode()
    ranks = {bytes([byte]): rank for rank, byte in enumerate(letters)}
    ranks |= {token.encode(): rank for token, rank in QWEN_TOKENS.items()}

    def spelled(token: bytes) -> str:
        return "".join(letters[byte] for byte in token)

    def halves(token: bytes) -> tuple[str, str]:
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 2:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], len(ranks) ** 2))
            parts[best : best + 2] = [parts[best] + parts[best + 1]]
        return spelled(parts[0]), spelled(parts[1])

    merges = [halves(token) for token in ranks if len(token) > 1]
    tokenizer = Tokenizer(models.BPE({spelled(token): rank for token, rank in ranks.items()}, merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = _byte_level_after(QWEN_PATTERN)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


@cache
def builtin() -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(Path(numberline.__file__).parent / "models" / "builtin" / "tiny")


@cache
def llama3() -> PreTrainedTokenizerFast:
    """Up to three digits are one token, the space before them another; begins with BOS; offsets are trimmed."""
    tokenizer = _trained(
        Tokenizer(models.BPE()), _byte_level_after(LLAMA3_PATTERN), pre_tokenizers.ByteLevel.alphabet()
    )
    template = _template("<s> $A", tokenizer)
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), template])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


@cache
def gpt2() -> PreTrainedTokenizerFast:
    """A number is one token together with the space before it; no special tokens."""
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer = _trained(Tokenizer(models.BPE()), splitter, pre_tokenizers.ByteLevel.alphabet())
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


@cache
def smollm() -> PreTrainedTokenizerFast:
    """Digit by digit, otherwise as GPT-2."""
    digits, words = pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    splitter = pre_tokenizers.Sequence([digits, words])
    tokenizer = _trained(Tokenizer(models.BPE()), splitter, pre_tokenizers.ByteLevel.alphabet())
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


@cache
def gpt2_with_eos() -> PreTrainedTokenizerFast:
    """The same, but it puts a special token after every text."""
    tokenizer = copy.deepcopy(gpt2().backend_tokenizer)
    tokenizer.post_processor = _template("$A </s>", tokenizer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")


@cache
def llama2() -> PreTrainedTokenizerFast:
    """Digit by digit, spaces written as ▁ and one more put in front of the text; begins with BOS."""
    return _metaspace(pre_tokenizers.Sequence([_words(), pre_tokenizers.Digits(True)]))


@cache
def gemma() -> PreTrainedTokenizerFast:
    """As Llama 2, but nothing is put in front of the text."""
    tokenizer = copy.deepcopy(llama2().backend_tokenizer)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>")


@cache
def metaspace_whole() -> PreTrainedTokenizerFast:
    """As Llama 2, but a number is one token with its ▁."""
    return _metaspace(_words())


@cache
def uneven() -> PreTrainedTokenizerFast:
    """Knows 10 to 49 as one token each and spells the rest digit by digit."""
    numbers = [str(n) for n in range(10, 50)]
    merges = [(number[0], number[1]) for number in numbers]
    return _characters(merges)


@cache
def unstable_prefix() -> PreTrainedTokenizerFast:
    """Joins "of" with the space after it, except before a 9, which takes the space for itself."""
    return _characters([(" ", "9"), ("o", "f"), ("of", " ")])


@cache
def glued() -> PreTrainedTokenizerFast:
    """Joins a number's last digit 0 with the comma after it."""
    return _characters([("0", ",")])


def _byte_level_after(pattern: str) -> pre_tokenizers.PreTokenizer:
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def _words() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Split(Regex("[.,()]"), "isolated")])


@cache
def _corpus() -> list[str]:
    prompts = [Task(kind, k=k).prompt([10] * k) for kind in (MAX, MIN) for k in (2, 3)]
    return [*prompts, *(f"({n}) {n}" for n in range(1000))] * 3


def trained(corpus: list[str]) -> PreTrainedTokenizerFast:
    """Splits as Qwen2.5 does, and has a token for every word of a corpus."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer = _trained(Tokenizer(models.BPE()), _byte_level_after(QWEN_PATTERN), alphabet, corpus * 3)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>")


def _trained(
    tokenizer: Tokenizer,
    splitter: pre_tokenizers.PreTokenizer,
    alphabet: list[str],
    corpus: list[str] | None = None,
) -> Tokenizer:
    tokenizer.pre_tokenizer = splitter
    trainer = trainers.BpeTrainer(
        vocab_size=6000, special_tokens=["<unk>", "<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(corpus or _corpus(), trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _metaspace(splitter: pre_tokenizers.PreTokenizer) -> PreTrainedTokenizerFast:
    tokenizer = _trained(Tokenizer(models.BPE(unk_token="<unk>")), splitter, [])
    tokenizer.pre_tokenizer = None  # as in Llama 2, whose merges alone keep words apart
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.post_processor = _template("<s> $A", tokenizer)
    tokenizer.decoder = decoders.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>")


def _characters(merges: list[tuple[str, str]]) -> PreTrainedTokenizerFast:
    """Character by character, but for these merges."""
    letters = sorted({letter for line in _corpus() for letter in line})
    tokens = dict.fromkeys([*letters, *(first + second for first, second in merges)])
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def _template(single: str, tokenizer: Tokenizer) -> processors.TemplateProcessing:
    special = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    return processors.TemplateProcessing(single=single, special_tokens=special)


def words(vocabulary: list[str]) -> PreTrainedTokenizerFast:
    """One token per word, spaces dropped."""
    tokens = dict.fromkeys([*vocabulary, ".", ",", "("])
    tokenizer = Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token="."))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)
