"""The table of sites: each row is what the oracle sees, a new kind is a new row; and sources are not copied."""

import pytest
import torch
from benches import Bench
from oracle import OracleEdit

from numberline.engine.edits import swap, transform, zero
from numberline.engine.lab import Read
from numberline.engine.recording import Recording
from numberline.engine.sites import KINDS, Activation, Half, Kind, Resume, Site, head, mlp, neurons, resid
from numberline.engine.wave import Wave
from numberline.errors import NumberlineError

ALL = Read(logits=torch.arange(306).repeat(4, 1))
Y2 = 33


def plain(bench: Bench, site: Site) -> torch.Tensor:
    """A site's value at y2 as the oracle, or for attention weights Hugging Face itself, sees it."""
    ids, found = bench.prompts["corrupted"].ids, bench.found["corrupted"]
    if site.kind.name == "pattern":
        with torch.no_grad():
            weights = bench.oracle.model(ids, output_attentions=True, use_cache=False).attentions
        return weights[site.layer][:, site.index[0], [Y2]]
    if site.kind.name == "head":
        return bench.oracle.head(site.layer, site.index[0], found["z", site.layer])[:, [Y2]]
    if site.kind.name not in bench.oracle.KINDS:
        found = {}
        with torch.no_grad():
            bench.oracle.logits(ids, found=found)
    return found[site.kind.name, site.layer][:, [Y2]]


@pytest.fixture
def learning(monkeypatch):
    """Tells the oracle of a kind that it does not know: it is what a module of Hugging Face's is given, or gives."""

    def tell(bench: Bench, kind: Kind) -> None:
        if kind.name != "pattern" and kind.name not in bench.oracle.KINDS:
            modules = [getattr(block, kind.read.module) for block in bench.lab.network.blocks]
            monkeypatch.setattr(bench.oracle, "others", {kind.name: (modules, kind.read.output)})

    return tell


@pytest.mark.parametrize("name", KINDS)
def test_every_row_is_what_the_oracle_sees(double_bench: Bench, learning, name: str):
    learning(double_bench, KINDS[name])
    check_row(double_bench, KINDS[name])


def check_row(bench: Bench, kind: Kind) -> None:
    lab, network = bench.lab, bench.lab.network
    site = Site(kind, 1, (2,) if kind.single else ()).at("y2")
    if kind.sequential and network.parallel:
        assert "in parallel" in site.missing(network)
        return
    assert site.missing(network) == ""
    want = plain(bench, site)
    assert bench.close(bench.corrupted.value(site), want), "computed again from what was kept"
    kept = lab.record(bench.prompts["corrupted"], () if kind.read.always else [kind.read.name])
    assert kept.question[kind.read.name, 1].shape[-1] == kind.width(network, kept.length)
    assert bench.close(kept.value(site), want), "kept"
    assert bench.close(lab.activations(bench.prompts["corrupted"], [site])[0], want), "read alone"
    if kind.written is None:
        with pytest.raises(NumberlineError, match="can be read but cannot be edited"):
            lab.run(kept, [zero(site)], ALL)
        return
    for change in (torch.zeros_like, lambda x: torch.tanh(3 * x).flip(-1)):
        edit = OracleEdit(kind.name, 1, [Y2], change, site.index)
        with torch.no_grad():
            expected = bench.oracle.logits(bench.prompts["corrupted"].ids, [edit])
        assert bench.moved(expected, bench.found["corrupted"]["logits"])
        found = lab.run(bench.corrupted, [transform(site, change)], Read(logits=ALL.logits, sites=[site]))
        assert bench.close(found.logits, expected)
        assert bench.close(found.at[site], change(want)), "a read sees the edit"


@pytest.mark.parametrize("name", KINDS)
def test_a_layer_or_an_index_that_is_not_there(qwen_bench: Bench, name: str):
    kind, network = KINDS[name], qwen_bench.lab.network
    index = (0,) if kind.single else ()
    assert Site(kind, kind.lowest, index).missing(network) == ""
    assert "layers 0 to 2" in Site(kind, kind.lowest - 1, index).missing(network)
    assert "layers 0 to 2" in Site(kind, 3, index).missing(network)
    limit = kind.parts(network)
    assert f"there is no {name} {limit}, the layer has {limit}" in Site(kind, 1, (limit,)).missing(network)


def test_a_new_kind_is_a_row(double_bench: Bench, learning, monkeypatch):
    """What the up-projection reads: read, kept and edited exactly, without a change anywhere else."""
    reads = Activation("reads", Half.MLP, "up_projection")
    monkeypatch.setitem(KINDS, "reads", Kind("reads", read=reads, written=reads, resume=Resume.MIDDLE))
    learning(double_bench, KINDS["reads"])
    check_row(double_bench, KINDS["reads"])


def sweep(bench: Bench, clean: Recording, corrupted: Recording) -> torch.Tensor:
    sites = [*(head(1, number) for number in range(4)), *(neurons(2, (number,)) for number in range(5)), mlp(2)]
    beside = swap(resid(0).at("y1"), clean)
    conditions = [
        edits for site in sites for edits in ([swap(site.at("y2"), clean)], [beside, swap(site.at("y2"), clean)])
    ]
    return bench.lab.sweep(corrupted, conditions, ALL).logits


def test_what_a_source_did_not_keep_is_computed_once_and_let_go(qwen_bench: Bench, monkeypatch):
    bench, again, held = qwen_bench, [], []
    compute, prepare = Recording._again, Wave._not_kept

    def counted(self, activation, layer, *rest):
        again.append((self, activation.name, layer))
        return compute(self, activation, layer, *rest)

    def prepared(self, layer):
        found = prepare(self, layer)
        held.append(len(found))
        return found

    monkeypatch.setattr(Recording, "_again", counted)
    monkeypatch.setattr(Wave, "_not_kept", prepared)
    clean, corrupted = (bench.lab.record(bench.prompts[side]) for side in ("clean", "corrupted"))
    lazily = sweep(bench, clean, corrupted)
    of_the_source = [(name, layer) for recording, name, layer in again if recording is clean]
    assert sorted(set(of_the_source)) == [("mlp", 2), ("neurons", 2), ("z", 1)]
    assert len(of_the_source) == 6, "once for each of two waves, however many conditions there are"
    assert max(held) == 2, "neurons and MLP of layer 2: a copy for all conditions, not one each"
    again.clear()
    kept = bench.lab.record(bench.prompts["clean"], ["z", "neurons", "mlp"])
    assert bench.close(sweep(bench, kept, corrupted), lazily)
    assert [name for recording, name, _ in again if recording is kept] == [], "what was kept is not computed again"


def test_sources_in_small_waves_are_those_of_one(qwen_bench: Bench, monkeypatch):
    whole = sweep(qwen_bench, qwen_bench.clean, qwen_bench.corrupted)
    monkeypatch.setattr(type(qwen_bench.lab.memory), "wave", lambda self, *sizes: 3)
    assert qwen_bench.close(sweep(qwen_bench, qwen_bench.clean, qwen_bench.corrupted), whole)


@pytest.mark.parametrize("site", [head(1, 2), neurons(1), mlp(1), resid(1)], ids=str)
def test_a_source_that_says_the_same_up_to_there_changes_nothing_at_all(qwen_bench: Bench, site: Site):
    """Both prompts begin alike up to token 27: not even rounding is left, whether or not the source kept the site."""
    unedited = qwen_bench.lab.run(qwen_bench.corrupted, [], ALL).logits
    swapped = qwen_bench.lab.run(qwen_bench.corrupted, [swap(site.at(27), qwen_bench.clean)], ALL).logits
    assert torch.equal(swapped, unedited)
