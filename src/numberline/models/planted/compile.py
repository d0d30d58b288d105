"""From a circuit to the weights of a `Qwen2ForCausalLM`.

1. Lay every form out as a row or a column over the named axes; constants become attention biases, or weights on the
   constant axis where there are no biases (MLPs).
2. Divide out RMSNorm: run the model on a reference prompt, measure 1/rms where each part says it works, write the
   weights again with it, until nothing changes.
3. Hide it: rotate the residual stream by a random orthogonal matrix (unit RMSNorm weights commute with it), rotate each
   key/value head's values, permute key/value groups, heads within their group, and neurons within their MLP.
4. Add Gaussian noise to every weight and bias, `noise` times that tensor's own root mean square.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import cos, sin, sqrt
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from numberline.errors import NumberlineError
from numberline.models.planted.hiding import (
    GROUPS,
    HEAD_DIM,
    HEADS,
    NEURONS,
    PER_GROUP,
    WIDTH,
    Hiding,
    no_hiding,
)
from numberline.models.planted.language import CONSTANT, ONE, ONE_VALUE, Circuit, Form

VOCABULARY = 306
THETA = 1e6

# RoPE turns pair j by theta^(−j/8) per token: the last pairs hardly turn over a prompt and carry content (both halves
# of a pair are free), the first ones turn fast and tell the previous token from all others.
CONTENT = (7, 15, 6, 14, 5, 13, 4)
FAST = (0, 1, 2)
PREVIOUS_SCORE = 40.0

REFERENCE = (
    "Answer in the following format with a single answer. The maximum of 12 and 4 is 12. The maximum of 31 and 58 is "
)
TOKENS = {"answer": 0, "the": 24, "digit": 28, "y1": 29, "separator": 30, "y2": 33, "is": 34, "last": 35}

TOKENIZER = Path(__file__).parents[1] / "builtin" / "tiny"

State = dict[str, Tensor]
Gains = Mapping[tuple[str, str], float]


@dataclass(frozen=True)
class Placement:
    """Where the compiler put things: head name → (block, head), neuron name → (block, neuron)."""

    heads: Mapping[str, tuple[int, int]]
    neurons: Mapping[str, tuple[int, int]]


def config(blocks: int) -> Qwen2Config:
    """The configuration of every planted model."""
    return Qwen2Config(
        vocab_size=VOCABULARY,
        hidden_size=WIDTH,
        intermediate_size=NEURONS,
        num_hidden_layers=blocks,
        num_attention_heads=HEADS,
        num_key_value_heads=GROUPS,
        max_position_embeddings=512,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": THETA},
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )


@cache
def vocabulary() -> dict[str, int]:
    """The tokens of the built-in tokenizer."""
    return dict(AutoTokenizer.from_pretrained(TOKENIZER).get_vocab())


@cache
def reference_tokens() -> Tensor:
    """The prompt on which norms are measured."""
    tokenizer = AutoTokenizer.from_pretrained(TOKENIZER)
    ids = tokenizer(REFERENCE, return_tensors="pt").input_ids
    return torch.as_tensor(ids)


class Writer:
    """Writes one circuit into a state dictionary, with given gains (1/rms at named tokens) and a given hiding."""

    def __init__(self, circuit: Circuit, gains: Gains, hiding: Hiding) -> None:
        if len(circuit.axes) > WIDTH:
            raise NumberlineError(
                f"the circuit has {len(circuit.axes)} axes but the model only {WIDTH}: use fewer axes"
            )
        self.circuit = circuit
        self.gains = gains
        self.hiding = hiding
        self.index = {axis: i for i, axis in enumerate(circuit.axes)}
        self.state: State = {}
        self.heads: dict[str, tuple[int, int]] = {}
        self.neurons: dict[str, tuple[int, int]] = {}

    def reads(self, form: Form, constants: bool = False) -> Tensor:
        """A form as a row; with `constants`, its constant is read from the constant axis."""
        row = torch.zeros(WIDTH, dtype=torch.float64)
        for axis, weight in form.items():
            if axis != CONSTANT:
                row[self.index[axis]] += weight / self.circuit.sizes.get(axis, 1.0)
            elif constants:
                row[self.index[ONE]] += weight / ONE_VALUE
        return torch.as_tensor(self.hiding.rotation @ row)

    def writes(self, form: Form) -> Tensor:
        """What is added to the residual stream to raise each axis by its weight."""
        column = torch.zeros(WIDTH, dtype=torch.float64)
        for axis, weight in form.items():
            column[self.index[axis]] += weight * self.circuit.sizes.get(axis, 1.0)
        return torch.as_tensor(self.hiding.rotation @ column)

    def gain(self, site: str, token: str) -> float:
        """1/rms of the residual that enters `site`, at a token of the reference prompt."""
        return self.gains.get((site, token), 1.0)

    def write(self) -> tuple[State, Placement]:
        """The whole state dictionary."""
        blocks = len(self.circuit.blocks)
        embedding = torch.zeros(VOCABULARY, WIDTH, dtype=torch.float64) + self.writes({ONE: ONE_VALUE})
        for token, form in self.circuit.embedding.items():
            embedding[vocabulary()[token]] += self.writes(form)
        unembedding = torch.zeros(VOCABULARY, WIDTH, dtype=torch.float64)
        for token, form in self.circuit.unembedding.items():
            unembedding[vocabulary()[token]] = self.reads(form) / self.gain("model.norm", "last")
        self.state |= {"model.embed_tokens.weight": embedding, "lm_head.weight": unembedding}
        self.state["model.norm.weight"] = torch.ones(WIDTH, dtype=torch.float64)
        for block in range(blocks):
            self.attention(block)
            self.mlp(block)
        return self.state, Placement(self.heads, self.neurons)

    def attention(self, block: int) -> None:
        """The query, key, value and output projections of one block."""
        site = f"model.layers.{block}.input_layernorm"
        q = torch.zeros(HEADS, HEAD_DIM, WIDTH, dtype=torch.float64)
        k = torch.zeros(GROUPS, HEAD_DIM, WIDTH, dtype=torch.float64)
        v = torch.zeros_like(k)
        o = torch.zeros(WIDTH, HEADS, HEAD_DIM, dtype=torch.float64)
        q_bias, k_bias = q[..., 0].clone(), k[..., 0].clone()
        v_bias = k_bias.clone()
        for number, group in enumerate(self.circuit.blocks[block].groups):
            slot = self.hiding.groups[block][number]
            turn = self.hiding.value_rotations[block][slot]
            for form, dim in zip(group.keys, CONTENT, strict=False):
                k[slot, dim] = self.reads(form) / self.gain(site, group.at)
                k_bias[slot, dim] = form.get(CONSTANT, 0.0)
            for dim, form in enumerate(group.values):
                v[slot, dim] = self.reads(form) / self.gain(site, group.at)
            v[slot] = turn @ v[slot]
            for member, head in enumerate(group.heads):
                index = slot * PER_GROUP + self.hiding.heads[block][slot][member]
                self.heads[head.name] = (block, index)
                for key, form in head.queries.items():
                    # Half of a score's size is in the query's √head_dim, which attention divides by.
                    q[index, CONTENT[key]] = sqrt(HEAD_DIM) * self.reads(form) / self.gain(site, head.at)
                    q_bias[index, CONTENT[key]] = sqrt(HEAD_DIM) * form.get(CONSTANT, 0.0)
                for value, form in head.writes.items():
                    o[:, index, value] = self.writes(form)
                o[:, index] = o[:, index] @ turn.T
                if head.previous_token:
                    look_back(q_bias[index], k_bias[slot])
        name = f"model.layers.{block}.self_attn."
        for letter, weight, bias in (("q", q, q_bias), ("k", k, k_bias), ("v", v, v_bias)):
            self.state[f"{name}{letter}_proj.weight"] = weight.flatten(0, 1)
            self.state[f"{name}{letter}_proj.bias"] = bias.flatten()
        self.state[f"{name}o_proj.weight"] = o.flatten(1)
        self.state[site + ".weight"] = torch.ones(WIDTH, dtype=torch.float64)

    def mlp(self, block: int) -> None:
        """The gate, up and down projections of one block."""
        site = f"model.layers.{block}.post_attention_layernorm"
        gate, up, down = (torch.zeros(NEURONS, WIDTH, dtype=torch.float64) for _ in range(3))
        neurons = self.circuit.blocks[block].neurons
        if len(neurons) > NEURONS:
            raise NumberlineError(f"block {block} has {len(neurons)} neurons but the MLP only {NEURONS}: use fewer")
        for number, neuron in enumerate(neurons):
            slot = self.hiding.neurons[block][number]
            self.neurons[neuron.name] = (block, slot)
            gain = self.gain(site, neuron.at)
            gate[slot] = self.reads(neuron.gate, constants=True) / gain
            up[slot] = self.reads(neuron.up, constants=True) / gain
            down[slot] = self.writes(neuron.write)
        name = f"model.layers.{block}.mlp."
        self.state |= {name + "gate_proj.weight": gate, name + "up_proj.weight": up, name + "down_proj.weight": down.T}
        self.state[site + ".weight"] = torch.ones(WIDTH, dtype=torch.float64)


def look_back(q_bias: Tensor, k_bias: Tensor) -> None:
    """Biases that make the score Σ_j cos(w_j (distance − 1)): largest at the previous token."""
    half = HEAD_DIM // 2
    size = sqrt(PREVIOUS_SCORE * sqrt(HEAD_DIM))
    for pair in FAST:
        turn = THETA ** (-pair / half)
        q_bias[pair], q_bias[pair + half] = size * cos(turn), -size * sin(turn)
        k_bias[pair] = size


def load(state: State, blocks: int, dtype: torch.dtype) -> Qwen2ForCausalLM:
    """A model with these weights, in evaluation mode."""
    model = Qwen2ForCausalLM(config(blocks)).to(dtype)
    model.load_state_dict({name: tensor.to(dtype) for name, tensor in state.items()}, strict=True)
    model.requires_grad_(False)
    return model.eval()


def add_noise(state: State, noise: float, generator: torch.Generator) -> State:
    """Gaussian noise on every weight and bias except the norms' (which stay one), relative to each tensor's rms."""
    if noise == 0:
        return state
    noisy = {}
    for name, tensor in state.items():
        size = 0.0 if "norm" in name else noise * float(tensor.square().mean().sqrt())
        noisy[name] = tensor + size * torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype)
    return noisy


def norm_sites(model: Qwen2ForCausalLM) -> Iterator[tuple[str, torch.nn.Module]]:
    """Every RMSNorm of the model with its name."""
    for name, module in model.named_modules():
        if name.endswith("norm"):
            yield name, module


@torch.no_grad()
def measure(model: Qwen2ForCausalLM) -> dict[tuple[str, str], float]:
    """1/rms of what enters every RMSNorm, at the named tokens of the reference prompt."""
    gains: dict[tuple[str, str], float] = {}
    hooks = []

    for name, module in norm_sites(model):

        def record(_: torch.nn.Module, inputs: tuple[Tensor, ...], name: str = name) -> None:
            rms = (inputs[0][0] ** 2).mean(-1).sqrt()
            gains.update({(name, token): 1.0 / float(rms[position]) for token, position in TOKENS.items()})

        hooks.append(module.register_forward_pre_hook(record))
    model(reference_tokens())
    for hook in hooks:
        hook.remove()
    return gains


def calibrate(circuit: Circuit) -> Gains:
    """The gains at which the circuit, written with them, has them: a fixed point, reached block by block."""
    blocks = len(circuit.blocks)
    gains: Gains = {}
    model = Qwen2ForCausalLM(config(blocks)).double().eval()
    for _ in range(2 * blocks + 4):
        model.load_state_dict(Writer(circuit, gains, no_hiding(blocks)).write()[0])
        measured = measure(model)
        change = max(abs(measured[site] / gains.get(site, 0.5) - 1.0) for site in measured)
        gains = measured
        if change < 1e-7:
            break
    return gains
