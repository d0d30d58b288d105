"""Which pieces does a sweep have? Its waves: what each leaves at the last token, and what was read on the way."""

from jaxtyping import Float, Int
from torch import Tensor

from numberline.engine.decode import Decoder
from numberline.engine.journal import Chapter, Piece
from numberline.engine.wave import Wave


def finals(wave: Wave, chapter: Chapter) -> Float[Tensor, "conditions examples d_model"]:
    """Run a wave, or take from the journal what it left and what it read."""
    if not chapter.keeps:
        return wave.run()

    def run() -> Piece:
        made = {"finals": wave.run()}
        for number, read in enumerate(wave.reads):
            made[f"read {number}"] = read.values[wave.numbers, wave.examples]
        return made

    found = chapter.piece(_name(wave), run)
    for number, read in enumerate(wave.reads):
        read.values[wave.numbers, wave.examples] = found[f"read {number}"]
    return found["finals"]


def continued(wave: Wave, steps: int, chapter: Chapter) -> Int[Tensor, "conditions examples steps"]:
    """Decode from a wave, or take from the journal what was said."""
    return chapter.piece(_name(wave), lambda: {"tokens": Decoder(wave).run(steps)})["tokens"]


def _name(wave: Wave) -> str:
    return f"wave {wave.numbers[0]}+{len(wave.numbers)} {wave.examples.start}:{wave.examples.stop}"
