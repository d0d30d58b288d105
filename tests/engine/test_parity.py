"""Engine logits equal the oracle's: every family, site and edit, at several positions, alone and combined."""

import pytest
import torch
from benches import Bench
from oracle import OracleEdit

from numberline.engine.edits import Edit, add, set_coordinates, swap, transform, zero
from numberline.engine.lab import Read
from numberline.engine.sites import EVERYWHERE, KINDS, Site, attn, head, mid, mlp, neurons, pattern, resid
from numberline.engine.subspace import Subspace
from numberline.errors import NumberlineError

SITES = [
    resid(-1),
    resid(0),
    resid(1),
    mid(1),
    attn(1),
    mlp(1),
    head(1, 0),
    head(1, 3),
    neurons(1),
    neurons(0, (3, 7, 20)),
]
POSITIONS = ["y1", "y2.first", "last", ("y1", "y2"), 27]  # 27: the last token of the shared prefix
READ = Read(logits=torch.arange(306).repeat(4, 1), argmax=True)


def basis(width: int, rank: int, seed: int) -> Subspace:
    generator = torch.Generator().manual_seed(seed)
    return Subspace(torch.linalg.qr(torch.randn(width, rank, generator=generator))[0])


def source(bench: Bench, site: Site, tokens: list[int], name: str = "clean") -> torch.Tensor:
    """The oracle's own value of a site."""
    found = bench.found[name]
    if site.kind.name == "head":
        return bench.oracle.head(site.layer, site.index[0], found["z", site.layer])[:, tokens]
    value = found[site.kind.name, site.layer][:, tokens]
    return value[..., list(site.index)] if site.index else value


def pairs(bench: Bench, site: Site, seed: int = 0):
    """The same edits twice: for the engine and for the oracle."""
    tokens = list(site.tokens(bench.corrupted.prompts.positions, 36))
    clean = source(bench, site, tokens)
    width = clean.shape[-1]
    one = basis(width, 1 if width < 4 else 2, seed)
    P = one.basis.to(clean)
    vector = torch.linspace(-2, 2, width, dtype=clean.dtype)
    coordinates = torch.linspace(-3, 3, 4 * P.shape[1], dtype=clean.dtype).view(4, -1)

    def oracle(change):
        return OracleEdit(site.kind.name, site.layer, tokens, change, site.index)

    yield "swap", swap(site, bench.clean), oracle(lambda x: clean)
    yield "swap along", swap(site, bench.clean, one), oracle(lambda x: x + (clean - x) @ P @ P.T)
    yield "zero", zero(site), oracle(torch.zeros_like)
    yield "zero along", zero(site, one), oracle(lambda x: x - x @ P @ P.T)
    yield "add", add(site, vector), oracle(lambda x: x + vector)
    each = clean.mean(1, keepdim=True).flip(-1)  # not x itself: norms do not see that x became 2x
    yield "add each", add(site, each[:, 0]), oracle(lambda x: x + each)
    yield (
        "coordinates",
        set_coordinates(site, one, coordinates),
        oracle(lambda x: x + (coordinates[:, None] - x @ P) @ P.T),
    )
    yield "transform", transform(site, bent), oracle(bent)


def bent(x: torch.Tensor) -> torch.Tensor:
    """A function that no other edit is, and in which the tokens of a site matter to each other."""
    return torch.tanh(3 * x).flip(-1) + x.mean(1, keepdim=True)


def same_in_both(bench: Bench, edit: Edit) -> bool:
    """A swap of what is the same in both prompts, such as a token of the shared prefix, cannot move anything."""
    tokens = list(edit.site.tokens(bench.corrupted.prompts.positions, 36))
    mine, theirs = (source(bench, edit.site, tokens, name) for name in ("corrupted", "clean"))
    return edit.source is bench.clean and bool((mine - theirs).abs().max() < 1e-6)


def skip_missing(bench: Bench, site: Site) -> bool:
    return bool(site.missing(bench.lab.network))


@pytest.mark.parametrize("site", SITES, ids=str)
def test_every_edit_at_every_site(any_bench: Bench, site: Site):
    if skip_missing(any_bench, site):
        with pytest.raises(NumberlineError, match="in parallel"):
            any_bench.lab.run(any_bench.corrupted, [zero(site.at("y2"))], READ)
        return
    conditions, expected = [], []
    for turn, position in enumerate(POSITIONS):
        for number, (_, edit, oracle_edit) in enumerate(pairs(any_bench, site.at(position))):
            if (number + turn + list(KINDS).index(site.kind.name)) % 3:
                continue  # each edit meets each position at some site of the same kind, not at every one
            conditions.append([edit])
            with torch.no_grad():
                expected.append(any_bench.oracle.logits(any_bench.corrupted.prompts.ids, [oracle_edit]))
    found = any_bench.lab.sweep(any_bench.corrupted, conditions, READ)
    plain = any_bench.found["corrupted"]["logits"]
    for condition, got, want in zip(conditions, found.logits, expected, strict=True):
        (edit,) = condition
        assert any_bench.moved(want, plain) or same_in_both(any_bench, edit), f"the edit at {edit.site} moves nothing"
        assert any_bench.close(got, want), f"{edit.site} {edit.action}"
    assert torch.equal(found.argmax, found.logits.argmax(-1))
    top = found.logits.topk(2).values
    assert any_bench.close(found.margin, top[..., 0] - top[..., 1])


def combinations(bench: Bench):
    yield [resid(0).at("y1"), head(1, 1).at("y2")]
    yield [head(1, 1).at("y2"), head(1, 1).at(("y2", "last")), head(1, 2).at("y2")]
    yield [attn(1).at("y2"), neurons(1, (1, 2)).at("y2"), mlp(1).at("last"), resid(1).at("y2"), resid(1).at("y1")]
    yield [neurons(0).at("y1"), neurons(1).at("y2"), attn(2).at("last")]
    yield [resid(1).at("y2"), resid(0).at("y1"), mlp(2).at("last")]
    if not bench.lab.network.parallel:
        yield [mid(1).at("y2"), mid(1).at("y2"), neurons(2, (0, 5)).at("y2"), resid(2).at("last")]


@pytest.mark.parametrize("number", range(6))
def test_edits_compose_in_order(any_bench: Bench, number: int):
    sites = list(combinations(any_bench))
    if number == len(sites):
        assert any_bench.lab.network.parallel
        return
    engine, oracle = [], []
    kinds = ["swap along", "coordinates", "transform", "zero along", "add each"]
    for i, site in enumerate(sites[number]):
        found = {name: (edit, plain) for name, edit, plain in pairs(any_bench, site, seed=i)}
        edit, plain = found[kinds[i % len(kinds)]]
        engine.append(edit)
        oracle.append(plain)
    with torch.no_grad():
        want = any_bench.oracle.logits(any_bench.corrupted.prompts.ids, oracle)
        fewer = [
            any_bench.oracle.logits(any_bench.corrupted.prompts.ids, oracle[:i] + oracle[i + 1 :]) for i in range(2)
        ]
    assert all(any_bench.moved(want, other) for other in fewer), "the first two edits must matter"
    got = any_bench.lab.run(any_bench.corrupted, engine, READ).logits
    assert any_bench.close(got, want)


def test_the_unedited_run_is_the_models_own(any_bench: Bench):
    for name, recording in any_bench.recordings.items():
        got = any_bench.lab.run(recording, [], READ).logits
        assert any_bench.close(got, any_bench.found[name]["logits"])


def test_a_recording_holds_what_the_oracle_sees(any_bench: Bench):
    recording, found = any_bench.corrupted, any_bench.found["corrupted"]
    for layer in range(3):
        for site in (resid(layer), attn(layer), mlp(layer), neurons(layer), neurons(layer, (2, 40)), head(layer, 2)):
            for position in ("y1", "last", ("y1.first", "y2"), 3, EVERYWHERE):
                tokens = list(site.at(position).tokens(recording.prompts.positions, 36))
                want = source(any_bench, site.at(position), tokens, "corrupted")
                got = recording.value(site.at(position))
                assert any_bench.close(got, want), site
    assert torch.equal(recording.value(resid(-1).at("y1"))[:, 0], found["resid", -1][:, 29])


def test_reads_after_edits(any_bench: Bench):
    edit, oracle_edit = next((e, o) for name, e, o in pairs(any_bench, resid(0).at("y1")) if name == "swap")
    asked = [resid(0), attn(1), head(1, 2), neurons(1), neurons(2, (4, 9)), mlp(2), resid(2)]
    sites = [site.at(position) for site in asked for position in ("y1.first", "y1", ("y2", "last"))]
    seen: dict = {}
    with torch.no_grad():
        any_bench.oracle.logits(any_bench.corrupted.prompts.ids, [oracle_edit], seen)
    got = any_bench.lab.run(any_bench.corrupted, [edit], Read(sites=sites)).at
    any_bench.found["edited"] = seen
    for site in sites:
        tokens = list(site.tokens(any_bench.corrupted.prompts.positions, 36))
        want = source(any_bench, site, tokens, "edited")
        assert any_bench.close(got[site], want), site
        if tokens[-1] >= 29 and site.layer > 1:  # by then even a parallel block's MLP has seen the change
            assert any_bench.moved(want, source(any_bench, site, tokens, "corrupted")), site


def test_attention_weights(any_bench: Bench):
    model, ids = any_bench.oracle.model, any_bench.corrupted.prompts.ids
    with torch.no_grad():
        want = model(ids, output_attentions=True, use_cache=False).attentions
    for layer in range(3):
        got = any_bench.corrupted.value(pattern(layer, 3).at(("y2", "last")))
        assert any_bench.close(got, want[layer][:, 3, [33, 35]])
    asked = pattern(1, 3).at("last")
    edit = add(resid(0).at("y1"), torch.linspace(-3, 3, 32))
    seen = any_bench.lab.run(any_bench.corrupted, [edit], Read(sites=[asked])).at[asked][:, 0]
    assert any_bench.close(seen.sum(-1), torch.ones(4).to(seen))
    assert any_bench.moved(seen, want[1][:, 3, 35])
