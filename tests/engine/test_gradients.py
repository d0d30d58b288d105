"""Gradients through the suffix equal autograd through the oracle's whole forward pass."""

import torch
from benches import Bench
from oracle import OracleEdit

from numberline.engine.edits import add, set_coordinates, swap, transform
from numberline.engine.lab import Read
from numberline.engine.sites import head, mid, neurons, resid

CHOSEN = torch.tensor([[5, 9], [6, 8], [7, 11], [20, 3]])
READ = Read(logits=CHOSEN)


def difference(logits: torch.Tensor) -> torch.Tensor:
    return (logits[:, 0] - logits[:, 1]).tanh().sum()


def engine_gradient(bench: Bench, edits, leaf: torch.Tensor) -> torch.Tensor:
    logits = bench.lab.run(bench.corrupted, edits, READ, grad=True).logits
    return torch.autograd.grad(difference(logits), leaf)[0]


def oracle_gradient(bench: Bench, edits, leaf: torch.Tensor) -> torch.Tensor:
    logits = bench.oracle.logits(bench.corrupted.prompts.ids, edits).gather(1, CHOSEN)
    return torch.autograd.grad(difference(logits), leaf)[0]


def leaf(*shape: int, like: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(like).requires_grad_()


def test_a_subspace_at_a_residual_and_at_a_head(double_bench: Bench):
    bench, found = double_bench, double_bench.found["clean"]
    R = leaf(32, 2, like=found["resid", 0])

    def oracle_swap(clean):
        Q = torch.linalg.qr(R)[0]
        return lambda x: x + (clean - x) @ Q @ Q.T

    for site, plain in [
        (resid(0).at("y1"), lambda: OracleEdit("resid", 0, [29], oracle_swap(found["resid", 0][:, [29]]))),
        (
            head(1, 2).at("y2"),
            lambda: OracleEdit("head", 1, [33], oracle_swap(bench.oracle.head(1, 2, found["z", 1])[:, [33]]), (2,)),
        ),
    ]:
        got = engine_gradient(bench, [swap(site, bench.clean, torch.linalg.qr(R)[0])], R)
        want = oracle_gradient(bench, [plain()], R)
        assert bench.moved(want, torch.zeros_like(want))
        assert bench.close(got, want), site


def test_a_coordinate_and_neurons_at_the_patched_state(double_bench: Bench):
    bench, found = double_bench, double_bench.found["clean"]
    like = found["resid", 0]
    basis = torch.linalg.qr(leaf(32, 2, like=like).detach())[0]
    coordinates = leaf(4, 2, like=like)
    got = engine_gradient(bench, [set_coordinates(resid(1).at("y2"), basis, coordinates)], coordinates)
    move = OracleEdit("resid", 1, [33], lambda x: x + (coordinates[:, None] - x @ basis) @ basis.T)
    want = oracle_gradient(bench, [move], coordinates)
    assert bench.moved(want, torch.zeros_like(want))
    assert bench.close(got, want)

    site = resid(0) if bench.lab.network.parallel else mid(1)
    nothing = torch.zeros(4, 48).to(like).requires_grad_()
    edits = [swap(site.at("y2"), bench.clean), add(neurons(1).at("y2"), nothing)]
    patch = OracleEdit(site.kind.name, site.layer, [33], lambda x: found[site.kind.name, site.layer][:, [33]])
    plain = [patch, OracleEdit("neurons", 1, [33], lambda x: x + nothing[:, None])]
    want = oracle_gradient(bench, plain, nothing)
    assert bench.moved(want, torch.zeros_like(want))
    assert bench.close(engine_gradient(bench, edits, nothing), want)


def test_what_a_function_depends_on(double_bench: Bench):
    bench, like = double_bench, double_bench.found["clean"]["resid", 0]
    scale = leaf(32, like=like)
    for site, plain in [(resid(1).at("y2"), ("resid", 1, [33])), (head(1, 2).at("y2"), ("head", 1, [33]))]:

        def function(x):
            return (scale * x).tanh()

        got = engine_gradient(bench, [transform(site, function)], scale)
        want = oracle_gradient(bench, [OracleEdit(*plain, function, site.index)], scale)
        assert bench.moved(want, torch.zeros_like(want))
        assert bench.close(got, want), site


def test_fits_that_share_a_batch_do_not_see_each_other(qwen_bench: Bench):
    bases = [
        torch.linalg.qr(torch.randn(32, 1, generator=torch.Generator().manual_seed(i)).double())[0] for i in range(3)
    ]
    for basis in bases:
        basis.requires_grad_()
    conditions = [
        [swap(resid(layer).at("y1"), qwen_bench.clean, basis)] for layer, basis in zip((0, 1, 0), bases, strict=True)
    ]
    together = qwen_bench.lab.sweep(qwen_bench.corrupted, conditions, READ, grad=True).logits
    joint = torch.autograd.grad(sum(difference(logits) for logits in together), bases)
    for edits, basis, got in zip(conditions, bases, joint, strict=True):
        want = engine_gradient(qwen_bench, edits, basis)
        assert want.abs().max() > 1e-6
        assert (got - want).abs().max() < 1e-12


def test_nothing_before_the_edit_is_in_the_graph(qwen_bench: Bench, monkeypatch):
    seen = []
    plain = qwen_bench.lab.network.blocks[0].attention.forward
    monkeypatch.setattr(
        qwen_bench.lab.network.blocks[0].attention, "forward", lambda *a, **k: seen.append(1) or plain(*a, **k)
    )
    basis = torch.eye(32, 1, dtype=torch.float64).requires_grad_()
    engine_gradient(qwen_bench, [swap(resid(0).at("y1"), qwen_bench.clean, basis)], basis)
    assert not seen
