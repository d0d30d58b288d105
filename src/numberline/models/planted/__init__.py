"""`planted`: a Qwen2 model whose weights are compiled, not trained, and whose mechanism is therefore known.

`planted(seed, noise, variant)` returns the model and its `Truth`:

1. `broken.py` chooses the design: the paper's algorithm, or a variant on which one claim fails.
2. `circuit.py` writes it down in named axes, heads and neurons (`reading.py`, `comparing.py`, `naming.py`).
3. `compile.py` turns it into weights, hides it under random rotations and permutations, and adds noise.
4. `truth.py` says what was planted, in the hidden frame.

It answers "The maximum of …" for two or three operands of two digits, in the prompts of `Task`, with the whole number
and a full stop. Nothing else: other operand counts, other digit counts and "minimum" were not planted, and the answers
to them mean nothing.
"""

from functools import cache

import torch
from torch import Tensor
from transformers import Qwen2ForCausalLM

from numberline.errors import NumberlineError
from numberline.models.planted import number
from numberline.models.planted.axes import CURVE, JUNK
from numberline.models.planted.broken import FROM_Y1, FROM_Y2, OWN, VARIANTS, Design, design_of
from numberline.models.planted.circuit import NUMBER_LAYER, READOUT_LAYER, circuit
from numberline.models.planted.compile import Gains, Placement, Writer, add_noise, calibrate, load
from numberline.models.planted.hiding import WIDTH, random_hiding
from numberline.models.planted.language import Circuit
from numberline.models.planted.reading import number_tables
from numberline.models.planted.truth import Comparator, Decoys, Place, Truth, evaluated, ideal_state

__all__ = ["VARIANTS", "Truth", "planted"]


@cache
def _calibrated(design: Design) -> tuple[Circuit, Gains]:
    described = circuit(design)
    return described, calibrate(described)


def planted(seed: int = 0, noise: float = 0.0, variant: str | None = None) -> tuple[Qwen2ForCausalLM, Truth]:
    """Compile the model (fp32, CPU, evaluation mode) and say what is in it.

    `seed` draws the rotation, the permutations and the noise; `noise` is the standard deviation of the Gaussian added
    to every weight, relative to that tensor's root mean square; `variant` is None or one of `VARIANTS`.
    """
    if noise < 0:
        raise NumberlineError(f"noise is a relative standard deviation, not {noise}: use 0 or more")
    design = design_of(variant)
    described, gains = _calibrated(design)
    generator = torch.Generator().manual_seed(seed)
    writer = Writer(described, gains, random_hiding(len(described.blocks), generator))
    state, placement = writer.write()
    model = load(add_noise(state, noise, generator), len(described.blocks), torch.float32)
    return model, _truth(seed, noise, variant, writer, placement)


def _truth(seed: int, noise: float, variant: str | None, writer: Writer, placement: Placement) -> Truth:
    design, described = design_of(variant), writer.circuit

    def places(part: str) -> tuple[Place, ...]:
        names = [neuron.name for block in described.blocks for neuron in block.neurons if neuron.part == part]
        return tuple(sorted(placement.neurons[name] for name in names))

    def span(*axes: str) -> Tensor:
        return torch.stack([writer.writes({axis: 1.0}) for axis in axes], dim=1).float()

    compared = range(design.first_block, design.flag_block + 1)
    ideal = evaluated(described, range(3, design.flag_block + 1), ideal_state(number_tables(design), design))
    comparators = {
        placement.neurons[neuron.name]: Comparator(
            neuron,
            writer.reads(neuron.gate, constants=True).float(),
            writer.writes(neuron.write).float(),
            WIDTH**0.5 / writer.gain(f"model.layers.{block}.post_attention_layernorm", "y2"),
            described.sizes,
            *ideal[neuron.name],
        )
        for block in compared
        for neuron in described.blocks[block].neurons
    }
    transports = {
        f"y{t}": tuple(sorted(place for name, place in placement.heads.items() if name.startswith(f"transport_y{t}")))
        for t in (1, 2)
    }
    return Truth(
        seed=seed,
        noise=noise,
        variant=variant,
        number_layer=NUMBER_LAYER,
        transport_heads=transports,
        comparator_mlps=tuple(compared),
        flag_layer=None if 2 in design.phased else design.flag_block,
        readout_layer=READOUT_LAYER,
        readout_head=placement.heads["read_out"],
        naming_head=placement.heads["name"] if design.code else placement.heads["read_out"],
        directions=_directions(design, writer),
        answer_subspace=span("code_x", "code_y") if design.code else None,
        magnitudes=torch.tensor([number.magnitude(y) for y in number.VALUES]),
        first_stage=places("first"),
        second_stage=places("second"),
        comparators=comparators,
        decoys=Decoys(
            curve=span(*CURVE),
            junk=span(*JUNK),
            heads={name: place for name, place in placement.heads.items() if name.startswith("decoy")},
            neurons=places("decoy"),
        ),
    )


def _directions(design: Design, writer: Writer) -> dict[int, dict[str, Tensor]]:
    """The paper's names for the planted axes, with two and with three operands, without those that are curved."""

    def unit(**axes: float) -> Tensor:
        vector = writer.writes(axes)
        return torch.as_tensor(vector / vector.norm()).float()

    v1 = unit(from_y1=(1.0 - design.alignment**2) ** 0.5, own=design.alignment)
    own, from_y2, flag = unit(own=1.0), unit(from_y2=1.0), unit(flag=1.0)
    two: dict[str, Tensor] = {}
    three: dict[str, Tensor] = {}
    if FROM_Y1 not in design.curved:
        two |= {"u": own, "v1": v1}
        three |= {"u1": own, "v1": v1}
    if FROM_Y2 not in design.curved:
        three |= {"u2": own, "v2": from_y2}
    if OWN not in design.curved:
        two["v2"] = own
        three["v3"] = own
    if 2 not in design.phased:
        two["flag"] = flag
        three["flag_y2"] = flag
    if 3 not in design.phased:
        three["flag_y3"] = flag
    return {2: two, 3: three}
