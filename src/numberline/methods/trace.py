"""Where is what was changed held, layer by layer and token by token? The causal trace.

1. The clean residual stream leaving one layer is restored in the corrupted run at one token, in full. Every layer and
   every token from the first that is not shared by all prompts: nothing before it can differ. One sweep.
2. Scores: IIA, position recovery and pooled recovery of each place (`scores.py`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from numberline.engine.edits import swap
from numberline.engine.prompts import Prompts
from numberline.engine.sites import resid
from numberline.methods.pairs import Pairs
from numberline.methods.scores import Scores, score


@dataclass(frozen=True)
class Token:
    """A token of all prompts: its index, its text in the first of them, and its name, if it has one."""

    token: int
    token_text: str
    position: str

    @property
    def columns(self) -> dict[str, Any]:
        """The token as columns of a table's row."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Trace:
    """The scores of restoring each token after each layer; the conditions of `scores` are layers × tokens."""

    scores: Scores
    layers: tuple[int, ...]
    tokens: tuple[Token, ...]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Three rows (iia, pr, pooled) for each place: layer, token, token_text, position, metric, mean, …"""
        return self.scores.rows(self.labels)

    @property
    def labels(self) -> list[dict[str, Any]]:
        """What each condition is: layer, token, token_text, position."""
        return [{"layer": layer, **token.columns} for layer in self.layers for token in self.tokens]

    def grid(self, metric: str = "pooled") -> Float[Tensor, "layers tokens"]:
        """One score of every place: "iia", "pr" or "pooled"."""
        means = [row["mean"] for row in self.rows if row["metric"] == metric]
        return torch.tensor(means).reshape(len(self.layers), len(self.tokens))


def trace(
    pairs: Pairs,
    layers: Sequence[int] | None = None,
    tokens: Sequence[Token] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Trace:
    """Restore every token after every layer, or some of them."""
    chosen = tuple(range(pairs.lab.network.n_layers) if layers is None else layers)
    named = tuple(question_tokens(pairs.lab.tokenizer, pairs.clean.prompts) if tokens is None else tokens)
    places = [resid(layer).at(token.token) for layer in chosen for token in named]
    return Trace(score(pairs, [[swap(site, pairs.clean)] for site in places], progress), chosen, named)


def question_tokens(tokenizer: Any, prompts: Prompts) -> list[Token]:
    """Every token from the first that the prompts do not share to the last."""
    names: dict[int, str] = {}
    # What has one token has it as its first and its last; it is named as the last, its position.
    for name, token in sorted(prompts.positions.items(), key=lambda item: item[0].endswith(".first")):
        names.setdefault(token, name)
    ids = prompts.ids[0].tolist()
    return [
        Token(token, str(tokenizer.decode([ids[token]])), names.get(token, ""))
        for token in range(prompts.prefix, len(ids))
    ]
