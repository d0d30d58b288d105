"""What must hold whatever the numbers: identities of edits, purity of recordings, refusals, clean exits."""

import gc
import resource
from dataclasses import replace

import pytest
import torch
from benches import Bench, bench, small_model
from transformers import AutoTokenizer

from numberline.engine.edits import add, freeze, swap, transform, zero
from numberline.engine.lab import Lab, Read
from numberline.engine.memory import Memory
from numberline.engine.recording import check_keep
from numberline.engine.sites import EVERYWHERE, attn, head, mid, mlp, neurons, pattern, resid
from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError
from numberline.models.catalogue import BUILT_IN
from numberline.models.loaded import wrap

ALL = Read(logits=torch.arange(306).repeat(4, 1), argmax=True)


def logits(bench: Bench, edits, recording=None) -> torch.Tensor:
    return bench.lab.run(recording or bench.corrupted, edits, ALL).logits


def random_basis(width: int, rank: int, seed: int = 0) -> torch.Tensor:
    return torch.linalg.qr(torch.randn(width, rank, generator=torch.Generator().manual_seed(seed)).double())[0]


@pytest.mark.parametrize(
    "site", [resid(1), mid(1), attn(1), mlp(1), head(1, 1), neurons(1), neurons(1, (1, 5))], ids=str
)
def test_a_swap_with_itself_is_the_identity(qwen_bench: Bench, site):
    plain = logits(qwen_bench, [])
    edited = logits(qwen_bench, [swap(site.at("y1"), qwen_bench.corrupted.value(site.at("y1")))])
    assert (edited - plain).abs().max() < 1e-12
    assert (logits(qwen_bench, [zero(site.at("y1"))]) - plain).abs().max() > 1e-4


@pytest.mark.parametrize("site", [resid(0), head(1, 2), mid(1)], ids=str)
def test_full_rank_is_full_and_the_basis_does_not_matter(qwen_bench: Bench, site):
    site, clean = site.at("y1"), qwen_bench.clean
    full = logits(qwen_bench, [swap(site, clean)])
    assert (full - logits(qwen_bench, [])).abs().max() > 1e-4
    assert (logits(qwen_bench, [swap(site, clean, random_basis(32, 32))]) - full).abs().max() < 1e-10
    P, R = random_basis(32, 3), random_basis(3, 3, seed=1)
    one, other = (logits(qwen_bench, [swap(site, clean, basis)]) for basis in (P, P @ R))
    assert (one - other).abs().max() < 1e-10
    assert (one - full).abs().max() > 1e-6


def test_freezing_undoes_what_comes_before(qwen_bench: Bench):
    moved = [swap(resid(0).at("y2"), qwen_bench.clean)]
    undone = [*moved, freeze(resid(1).at(("y2", 34, "last")))]
    plain = logits(qwen_bench, [])
    assert (logits(qwen_bench, moved) - plain).abs().max() > 1e-4
    assert (logits(qwen_bench, undone) - plain).abs().max() < 1e-10


def test_source_and_target_may_be_different_places(qwen_bench: Bench):
    edit = swap(resid(1).at("y1"), qwen_bench.clean, source_site=resid(0).at("y2"))
    same = swap(resid(1).at("y1"), qwen_bench.clean.value(resid(0).at("y2")))
    assert torch.equal(logits(qwen_bench, [edit]), logits(qwen_bench, [same]))
    assert (
        logits(qwen_bench, [edit]) - logits(qwen_bench, [swap(resid(1).at("y1"), qwen_bench.clean)])
    ).abs().max() > 1e-4


def test_a_swap_that_cannot_change_anything_costs_nothing_and_changes_nothing(qwen_bench: Bench, monkeypatch):
    same = qwen_bench.lab.record(qwen_bench.corrupted.prompts)
    monkeypatch.setattr("numberline.engine.wave.Wave.run", lambda self: pytest.fail("computed what cannot change"))
    assert torch.equal(logits(qwen_bench, [swap(resid(1).at("y1"), same)]), logits(qwen_bench, []))


def test_a_recording_is_not_changed_by_runs(qwen_bench: Bench):
    recording = qwen_bench.corrupted
    stores = (recording.prefix, recording.question)
    before = [{key: value.clone() for key, value in store.items()} for store in stores]
    edits = [add(site.at("y1"), torch.ones(())) for site in (resid(0), head(1, 1), attn(1), mid(1), neurons(1), mlp(1))]
    logits(qwen_bench, edits)
    qwen_bench.lab.decode(recording, [edits, [zero(neurons(0).at(EVERYWHERE))]], 2)
    for old, store in zip(before, stores, strict=True):
        assert all(torch.equal(old[key], value) for key, value in store.items())


def test_the_size_of_the_batch_does_not_matter(qwen_bench: Bench):
    sites = [resid(0), mid(1), head(1, 1), neurons(2, (3,)), resid(2)]
    conditions = [[swap(s.at(p), qwen_bench.clean)] for s in sites for p in ("y1", "y2", "last")]
    together = qwen_bench.lab.sweep(qwen_bench.corrupted, conditions, ALL).logits
    for number, edits in enumerate(conditions):
        assert (logits(qwen_bench, edits) - together[number]).abs().max() < 1e-12
    # The same in slices of one row, in waves of three rows.
    lab = Lab(qwen_bench.lab.loaded, Memory(32, 48, 8, torch.device("cpu"), shrink=2**30))
    lab.memory.wave = lambda tokens, blocks: 3
    recordings = {name: lab.record(prompts) for name, prompts in qwen_bench.prompts.items()}
    conditions = [[swap(s.at(p), recordings["clean"])] for s in sites for p in ("y1", "y2", "last")]
    alone = lab.sweep(recordings["corrupted"], conditions, ALL).logits
    assert (alone - together).abs().max() < 1e-12


def test_out_of_memory_halves_the_slice(qwen_bench: Bench):
    memory, tried = Memory(32, 48, 8, torch.device("cpu")), []

    def run(rows: slice) -> int:
        tried.append(rows.stop - rows.start)
        if tried[-1] > 25:
            raise torch.OutOfMemoryError("no room")
        return rows.stop - rows.start

    memory.shrink = max(memory._fit(96 * 2**20, 10 * (3 * 48 + 8 * 32) * 8) // 100, 1)
    assert sum(memory.over(100, 10, run)) == 100
    assert max(tried) > 25
    with pytest.raises(NumberlineError, match="one prompt does not fit"):
        memory.over(3, 10, lambda rows: (_ for _ in ()).throw(torch.OutOfMemoryError("no room")))
    with pytest.raises(RuntimeError, match="something else"):
        memory.over(3, 10, lambda rows: (_ for _ in ()).throw(RuntimeError("something else")))


def test_hooks_and_attention_are_restored_after_an_exception(qwen_bench: Bench):
    model = qwen_bench.oracle.model

    def hooks() -> list[int]:  # Hugging Face leaves some of its own where attention weights were asked for
        return [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]

    before = hooks()
    bad = add(neurons(1).at("y2"), torch.ones(5))  # five values for 48 neurons
    with pytest.raises(RuntimeError):
        logits(qwen_bench, [bad, add(head(1, 0).at("y2"), torch.ones(32))])
    assert model.config._attn_implementation == "eager"
    assert hooks() == before
    with torch.no_grad():
        again = model(qwen_bench.corrupted.prompts.ids).logits[:, -1]
    assert (again - qwen_bench.found["corrupted"]["logits"]).abs().max() < 1e-12


def test_memory_does_not_grow(qwen_bench: Bench):
    edits = [swap(resid(0).at("y1"), qwen_bench.clean), zero(neurons(1).at("y2"))]
    for _ in range(20):
        logits(qwen_bench, edits)
    gc.collect()
    before, objects = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(gc.get_objects())
    for _ in range(200):
        logits(qwen_bench, edits)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # kB
    assert len(gc.get_objects()) - objects < 500


def test_an_edit_that_does_not_fire_is_an_error(qwen_bench: Bench):
    with pytest.raises(NumberlineError, match="did not take place"):
        qwen_bench.lab.run(qwen_bench.corrupted, [zero(resid(2).at("y1"))], Read(sites=[resid(0).at("y1")]))


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        (lambda b: [zero(resid(3).at("y1"))], "layers 0 to 2"),
        (lambda b: [zero(head(1, 4).at("y1"))], "no head 4"),
        (lambda b: [zero(neurons(1, (48,)).at("y1"))], "no neurons 48"),
        (lambda b: [zero(resid(1).at("y9"))], "no position 'y9'"),
        (lambda b: [zero(resid(1).at(36))], "36 tokens"),
        (lambda b: [zero(resid(1))], "has no position"),
        (lambda b: [zero(pattern(1, 1).at("y1"))], "cannot be edited"),
        (lambda b: [transform(resid(1).at("y1"), lambda x: x[..., :3])], r"and returned the shape \(4, 1, 3\): return"),
        (lambda b: [transform(resid(1).at("y1"), lambda x: None)], "returned NoneType: return one of the same shape"),
        (lambda b: [swap(resid(1).at("y1"), b.lab.record(b.clean.prompts[:2]))], "2 prompts"),
        (lambda b: [swap(resid(1).at("y1"), torch.zeros(3, 32))], "3 examples"),
        (lambda b: [swap(resid(1).at(EVERYWHERE), b.clean, source_site=resid(1).at(("y1", "y2")))], "2 source tokens"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_reason(qwen_bench: Bench, edits, said):
    with pytest.raises(NumberlineError, match=said):
        logits(qwen_bench, edits(qwen_bench))


def test_recordings_of_any_size_and_precision(qwen_bench: Bench):
    lab, prompts = qwen_bench.lab, qwen_bench.prompts["corrupted"]
    for keep in ((), ("z", "neurons"), ("attn", "mlp", "z", "neurons", "pattern")):
        assert lab.record(prompts, keep).nbytes == lab.cost(prompts, keep)
    everything = lab.record(prompts, ("attn", "mlp", "z", "neurons", "pattern"))
    for site in (attn(1), mlp(2), head(0, 1), neurons(1), neurons(2, (7,)), pattern(1, 2)):
        at = site.at(("y2.first", "last"))
        assert (everything.value(at) - qwen_bench.corrupted.value(at)).abs().max() < 1e-12
    half = lab.record(prompts, dtype=torch.float32)
    assert half.nbytes == lab.cost(prompts, dtype=torch.float32) == qwen_bench.corrupted.nbytes // 2
    edits = [add(resid(1).at("y1"), torch.ones(()))]
    assert 1e-12 < (logits(qwen_bench, edits, half) - logits(qwen_bench, edits)).abs().max() < 1e-4
    with pytest.raises(NumberlineError, match="cannot keep 'heads'"):
        check_keep(("heads",))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_patches_are_computed_in_single_precision(dtype):
    half = bench("qwen2", dtype)
    site, basis = resid(1).at("y1"), random_basis(32, 1).float()
    x, source = half.corrupted.value(site), half.clean.value(site)
    got = half.lab.run(half.corrupted, [swap(site, half.clean, basis)], Read(sites=[site])).at[site]
    exact = (x.float() + (source.float() - x.float()) @ basis @ basis.T).to(dtype)
    sloppy = x + (source - x) @ basis.to(dtype) @ basis.to(dtype).T
    assert torch.equal(got, exact)
    assert not torch.equal(got, sloppy)
    whole = half.lab.run(half.corrupted, [], ALL).logits
    assert (whole - half.found["corrupted"]["logits"].float()).abs().max() < 0.05 * whole.abs().max()


def test_a_model_spread_over_devices(qwen_bench: Bench):
    from accelerate import dispatch_model

    model = small_model("qwen2")
    names = {"model.embed_tokens": "cpu", "model.norm": "cpu", "model.rotary_emb": "cpu", "lm_head": "cpu"}
    model = dispatch_model(model, {**names, **{f"model.layers.{i}": "cpu" for i in range(3)}}, main_device="cpu")
    lab = Lab.of(wrap(model, AutoTokenizer.from_pretrained(BUILT_IN / "tiny"), "spread"))
    recordings = {name: lab.record(prompts) for name, prompts in qwen_bench.prompts.items()}
    edits = [swap(resid(0).at("y1"), recordings["clean"]), zero(head(1, 1).at("y2"))]
    got = lab.run(recordings["corrupted"], edits, ALL).logits
    want = logits(qwen_bench, [swap(resid(0).at("y1"), qwen_bench.clean), zero(head(1, 1).at("y2"))])
    assert (got - want).abs().max() < 1e-10


def test_subspaces_carry_their_provenance():
    vectors = [torch.randn(6), torch.randn(6)]
    space = Subspace.spanned_by(*vectors, model="abc", site="resid(1)")
    assert torch.allclose(space.basis[:, 0], vectors[0] / vectors[0].norm(), atol=1e-6)
    assert float(space.basis[:, 1] @ vectors[1]) > 0
    assert space.provenance == {"model": "abc", "site": "resid(1)"}
    with pytest.raises(NumberlineError, match="orthonormal"):
        Subspace(torch.ones(6, 2))
    with pytest.raises(NumberlineError, match="span"):
        Subspace.spanned_by(vectors[0], 2 * vectors[0])
    x, value = torch.randn(50, 6), torch.arange(50.0)
    x[:, 0] = -value
    assert Subspace(torch.eye(6)[:, :1]).signed(x, value).basis[0, 0] == -1


def test_a_prefix_is_taken_over_only_where_it_is_the_same(qwen_bench: Bench):
    """Prompts that begin alike share one run of their beginning; others are run whole, and nothing else differs."""
    lab, clean, prompts = qwen_bench.lab, qwen_bench.clean, qwen_bench.corrupted.prompts
    shared = lab.record(prompts, prefix_of=clean)
    assert all(shared.prefix[key] is tensor for key, tensor in clean.prefix.items())
    other = replace(prompts, ids=prompts.ids.clone())
    other.ids[:, 0] += 1
    alone, offered = lab.record(other), lab.record(other, prefix_of=clean)
    for key, tensor in lab.record(prompts).question.items():
        assert torch.equal(shared.question[key], tensor)
        assert torch.equal(offered.question[key], alone.question[key])
    assert not torch.equal(offered.prefix["resid", 1], clean.prefix["resid", 1])


def test_a_source_may_stop_early(qwen_bench: Bench):
    """A recording up to a layer serves edits there as a whole one does, and says so when more is asked of it."""
    lab, whole = qwen_bench.lab, qwen_bench.clean
    early = lab.record(whole.prompts, prefix_of=qwen_bench.corrupted, upto=1)
    for site in (resid(1), mid(1), head(1, 1), neurons(1, (1, 5)), resid(0)):
        assert torch.equal(
            logits(qwen_bench, [swap(site.at("y1"), early)]), logits(qwen_bench, [swap(site.at("y1"), whole)])
        )
    for edits in ([swap(resid(2).at("y1"), early)], [swap(mlp(2).at("y1"), early)]):
        with pytest.raises(NumberlineError, match="keeps layers 0 to 1, but layer 2 is needed"):
            logits(qwen_bench, edits)
    with pytest.raises(NumberlineError, match="keeps layers 0 to 1"):
        lab.run(early, [], ALL)
    assert (
        logits(qwen_bench, [swap(resid(1).at("y1"), whole)], lab.record(whole.prompts, prefix_of=early))
        .isfinite()
        .all()
    )
