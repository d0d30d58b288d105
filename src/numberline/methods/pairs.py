"""What do causal methods work on? A clean and a corrupted run of each example, and the two answers it is scored by.

    Pairs.of(lab, clean_texts, corrupted_texts, {"giver": ["Mary", "John"]}, answers=[(" John", " Mary"), …])

1. An intervention runs on the corrupted prompt, with the clean run as its source. All prompts, of both sides, have one
   token layout, so that a position means the same token in each.
2. Each example has two answer tokens: the one that a successful intervention makes the model name, t(r), and the one
   that the corrupted prompt is answered with, t(b). They stay the same in every run. In a question of one's own, t(r)
   is the clean answer, unless what is moved is not the answer itself.
3. PLD = logit[t(r)] − logit[t(b)] at the last token. That of the clean and of the corrupted runs is kept: it is the
   scale on which an intervention is measured.

Tasks make pairs from counterfactuals (`tasks/pairs.py`), a user from any two lists of texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.lab import Lab, Read
from numberline.engine.prompts import Positions, Prompts, Where, first_tokens, one_each
from numberline.engine.recording import Keep, Recording
from numberline.errors import NumberlineError

Answers = tuple[str, str] | Sequence[tuple[str, str]] | tuple[int, int] | Sequence[tuple[int, int]] | Int[Tensor, "n 2"]
"""The wanted and the corrupted answer as words or as tokens: a tuple for all examples, or a list with one for each."""

Some = TypeVar("Some", bound="Pairs")


@dataclass(frozen=True, eq=False)
class Pairs:
    """Recorded examples. `answers` holds (t(r), t(b)) of each; `label` says in words what was changed."""

    lab: Lab
    clean: Recording
    corrupted: Recording
    answers: Int[Tensor, "n 2"]
    label: str
    clean_pld: Float[Tensor, " n"]
    corrupted_pld: Float[Tensor, " n"]

    @classmethod
    def of(
        cls,
        lab: Lab,
        clean: Sequence[str],
        corrupted: Sequence[str],
        positions: Positions | tuple[Positions, Positions],
        answers: Answers,
        label: str = "",
    ) -> "Pairs":
        """Pairs of texts. Positions as in `Prompts.of`: the same for both sides, or (those of clean, of corrupted)."""
        n = len(clean)
        if not n or len(corrupted) != n:
            raise NumberlineError(
                f"{n} clean and {len(corrupted)} corrupted texts make no pairs: give as many of one as of the other"
            )
        mine, theirs = positions if isinstance(positions, tuple) else (positions, positions)
        if set(mine) != set(theirs):
            odd = sorted(set(mine) ^ set(theirs))[0]
            raise NumberlineError(f"the position {odd!r} is named on one side only: give it for both")
        both: dict[str, list[Where]] = {
            name: [*one_each(name, mine[name], n), *one_each(name, theirs[name], n)] for name in mine
        }
        prompts = Prompts.of(lab.tokenizer, [*clean, *corrupted], both)
        return record(lab, prompts[:n], prompts[n:], answer_ids(lab, corrupted, answers), label)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def positions(self) -> Mapping[str, int]:
        """The named positions of both prompts of every pair."""
        return self.corrupted.prompts.positions

    @property
    def scale(self) -> Float[Tensor, " n"]:
        """The denominator of position recovery: the clean-minus-corrupted PLD of each example."""
        return self.clean_pld - self.corrupted_pld

    def part(self: Some, rows: slice) -> Some:
        """Some of the examples, sharing the recordings' memory."""
        return replace(
            self,
            clean=self.clean.part(rows),
            corrupted=self.corrupted.part(rows),
            answers=self.answers[rows],
            clean_pld=self.clean_pld[rows],
            corrupted_pld=self.corrupted_pld[rows],
        )


def record(
    lab: Lab,
    clean: Prompts,
    corrupted: Prompts,
    answers: Int[Tensor, "n 2"],
    label: str = "",
    keep: Sequence[Keep] = (),
    upto: int | None = None,
) -> Pairs:
    """Record both sides; they run through what they share once. `upto`: the last layer at which clean is a source."""
    read = Read(logits=answers)
    one = lab.record(clean, keep)
    clean_pld = pld(lab.run(one, [], read).logits)
    if upto is not None:
        one.forget(after=upto)
    other = lab.record(corrupted, keep, prefix_of=one)
    return Pairs(lab, one, other, answers, label, clean_pld, pld(lab.run(other, [], read).logits))


def join(parts: Sequence[Pairs], layer: int) -> Pairs:
    """Pairs of one layout as one batch, for edits at one layer: what the recordings keep from there on."""
    before = max(layer - 1, -1)  # what is inside a block is computed from what enters it
    return Pairs(
        parts[0].lab,
        Recording.join([pairs.clean for pairs in parts], range(before, layer + 1)),
        Recording.join([pairs.corrupted for pairs in parts], range(before, parts[0].lab.network.n_layers)),
        torch.cat([pairs.answers for pairs in parts]),
        ", ".join(dict.fromkeys(pairs.label for pairs in parts)),
        torch.cat([pairs.clean_pld for pairs in parts]),
        torch.cat([pairs.corrupted_pld for pairs in parts]),
    )


def pld(logits: Float[Tensor, "*n 2"] | None) -> Float[Tensor, "*n"]:
    """logit[t(r)] − logit[t(b)], on the CPU in double precision unless a gradient flows."""
    assert logits is not None
    difference = logits[..., 0] - logits[..., 1]
    return difference if difference.requires_grad else difference.double().cpu()


def answer_ids(lab: Lab, texts: Sequence[str], answers: Answers) -> Int[Tensor, "n 2"]:
    """The two answer tokens of each text; refused when both are the same or are no tokens of the model."""
    listed: list[Sequence[str | int]]
    if isinstance(answers, Tensor):
        listed = list(answers.tolist())
    else:
        alone = isinstance(answers, tuple) and len(answers) == 2 and isinstance(answers[0], str | int)
        listed = [answers] * len(texts) if alone else list(answers)  # type: ignore[list-item, arg-type]
    if len(listed) != len(texts) or any(len(each) != 2 for each in listed):
        raise NumberlineError(
            f"answers for {len(listed)} examples were given, but there are {len(texts)}: give two answers for each, or "
            "one tuple of two for all"
        )
    flat = [answer for each in listed for answer in each]
    words = {i: answer for i, answer in enumerate(flat) if isinstance(answer, str)}
    first = first_tokens(lab.tokenizer, [texts[i // 2] for i in words], list(words.values())) if words else []
    found = dict(zip(words, first, strict=True))
    tokens = [found[i] if i in found else int(answer) for i, answer in enumerate(flat)]
    for number, (wanted, other) in enumerate(zip(tokens[::2], tokens[1::2], strict=True)):
        if wanted == other:
            raise NumberlineError(
                f"the answers {listed[number][0]!r} and {listed[number][1]!r} of example {number + 1} begin with the "
                f"same token {wanted}, so the read-out cannot tell them apart: choose answers that begin differently"
            )
        if not (0 <= wanted < lab.network.vocabulary and 0 <= other < lab.network.vocabulary):
            raise NumberlineError(
                f"example {number + 1} has the answer tokens {wanted} and {other}, but the model has tokens 0 to "
                f"{lab.network.vocabulary - 1}"
            )
    return torch.tensor(tokens, dtype=torch.long).reshape(-1, 2)
