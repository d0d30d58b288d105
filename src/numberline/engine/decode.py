"""Greedy continuation of an edited run.

1. The wave runs once and keeps the keys and values that it computed.
2. Every row gets a past of its own: recorded keys where its condition changes nothing, the wave's where it does. The
   part of the prefix before the first changed token stays shared.
3. Each further token goes through all blocks, attending to that past, which grows by one token.
"""

from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Int
from torch import Tensor

from numberline.engine.attention import Past
from numberline.engine.blocks import attend, feed
from numberline.engine.wave import Wave, WaveTap


@dataclass(eq=False)
class Decoder:
    """Continues the rows of one wave."""

    wave: Wave
    past: dict[int, tuple[Tensor, Tensor]] = field(default_factory=dict)

    def run(self, steps: int) -> Int[Tensor, "conditions examples steps"]:
        """The next `steps` most likely tokens of every row."""
        wave, network = self.wave, self.wave.recording.network
        wave.keep_keys = True
        final = wave.run().flatten(0, 1)
        chosen = [self._most_likely(final)]
        if steps > 1:
            self.past = {layer: self._own_past(layer) for layer in range(network.n_layers)}
            wave.active = list(range(len(wave.conditions)))  # from here on, rows are in the order of the conditions
        for step in range(1, steps):
            chosen.append(self._most_likely(self._token(chosen[-1], wave.recording.length + step - 1)))
        return torch.stack(chosen, dim=1).reshape(len(wave.conditions), -1, steps)

    def _most_likely(self, final: Tensor) -> Int[Tensor, " rows"]:
        logits = self.wave.recording.network.logits
        return torch.cat([logits(part).argmax(-1) for part in final.split(256)])

    def _own_past(self, layer: int) -> tuple[Tensor, Tensor]:
        """Keys and values of every row, from the end of what is still shared, in the order of the conditions."""
        wave, recording = self.wave, self.wave.recording
        start = wave.conditions[0].token
        shared = min(start, recording.prompts.prefix)
        parts = []
        for which in (0, 1):
            whole = recording.keys_and_values(layer, shared, recording.length, wave.examples)[which]
            rows = whole.expand(len(wave.conditions), *whole.shape).clone()
            if layer in wave.keys:
                changed = wave.keys[layer][which].unflatten(0, (-1, whole.shape[0]))
                for place, number in enumerate(wave.active[: changed.shape[0]]):
                    rows[number, :, :, start - shared :] = changed[place]
            parts.append(rows.flatten(0, 1))
        return parts[0], parts[1]

    def _token(self, ids: Int[Tensor, " rows"], position: int) -> Tensor:
        """The final residual of one more token, whose keys and values join the past."""
        wave, recording, network = self.wave, self.wave.recording, self.wave.recording.network
        shared = min(wave.conditions[0].token, recording.prompts.prefix)
        x = network.embed(ids[:, None], position)
        for layer in range(network.n_layers):
            keys, values = self.past[layer]
            prefix = recording.past(layer, shared)

            def run(rows: slice, layer: int = layer, x: Tensor = x, prefix: Past = prefix) -> tuple[Tensor, ...]:
                keys, values = self.past[layer]
                tap = WaveTap(wave, layer, rows, (position,))
                past = replace(prefix, start=position, keys=keys[rows], values=values[rows], want_keys=True, kept={})
                out = feed(network, layer, x[rows], attend(network, layer, x[rows], tap, past), tap)
                return out, past.kept["keys"], past.kept["values"]

            found = recording.memory.over(x.shape[0], 1, run)
            x, new_keys, new_values = (torch.cat(parts) for parts in zip(*found, strict=True))
            self.past[layer] = torch.cat([keys, new_keys], 2), torch.cat([values, new_values], 2)
        return x[:, 0]
