"""Make the tokenizer of the built-in models: byte-level BPE whose layouts on the task's prompts equal Qwen2.5's.

It splits text as Qwen2.5 does (every digit alone, a word with the space before it), so positions agree token for token.
Only the words of the task are merged; anything else still encodes, byte by byte. usage: python tokenizer.py FOLDER...
"""

import json
import sys
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, pre_tokenizers, processors, trainers
from tokenizers.models import BPE
from transformers import PreTrainedTokenizerFast

from numberline.tasks import MAX, MIN, Task

SPLIT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
END = "<|endoftext|>"


def build() -> PreTrainedTokenizerFast:
    """Train the merges on the task's own prompts until every word is one token."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    corpus = [Task(concept, k).prompt(range(10, 10 + k)) for concept in (MAX, MIN) for k in (2, 3)]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=512, min_frequency=1, initial_alphabet=alphabet, special_tokens=[END], show_progress=False
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END, pad_token=END)


def save(folder: Path) -> None:
    """Write the tokenizer's two files; its class by the name that every version of transformers 5 reads."""
    build().save_pretrained(folder)
    config = folder / "tokenizer_config.json"
    facts = json.loads(config.read_text()) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    config.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        save(Path(name))
