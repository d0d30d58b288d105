"""A neuron's read rows, the norm's gain folded in, are what its projections compute, in every family."""

import pytest
import torch

from numberline.models.network import gain


@pytest.fixture
def block(double_bench):
    """A block whose norm before the MLP multiplies each coordinate by something else; restored afterwards."""
    chosen = double_bench.lab.network.blocks[1]
    before = {name: value.clone() for name, value in chosen.before_mlp.state_dict().items()}
    generator = torch.Generator().manual_seed(0)
    for parameter in chosen.before_mlp.parameters():
        parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    yield chosen
    chosen.before_mlp.load_state_dict(before)


def test_read_rows_are_what_the_projections_compute(block, double_bench):
    network = double_bench.lab.network
    # Every second coordinate −1: mean zero, size one, so that every norm only multiplies and adds.
    x = torch.ones(1, network.d_model, dtype=network.dtype)
    x[:, 1::2] = -1.0
    rows = block.read_matrices
    assert set(rows) == ({"up"} if block.gate_projection is None else {"up", "gate"})
    fused = block.gate_projection is block.up_projection
    for name, matrix in rows.items():
        module = block.gate_projection if name == "gate" else block.up_projection
        up, down = module(block.before_mlp(x)), module(block.before_mlp(-x))
        read = (up - down)[0].float() / 2
        if fused:  # one module gives both: the gate, then the up-projection
            read = read[: network.d_mlp] if name == "gate" else read[network.d_mlp :]
        assert torch.allclose(read, matrix @ x[0].float(), atol=1e-4)
        assert matrix.shape == (network.d_mlp, network.d_model)


def test_a_norm_that_does_not_exist_has_gain_one():
    assert torch.equal(gain(torch.nn.Identity(), 6, torch.device("cpu")), torch.ones(6))
