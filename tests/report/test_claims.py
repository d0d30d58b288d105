"""The ledger: the rule on intervals; every claim can hold and can fail; what is missing is said; pages are escaped."""

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from claims_tables import SPOILED, UNCOUNTED, complete, good, spoiled
from synthetic import make_run

from numberline.claims import CLAIMS, FILE, ledger, ledger_of, write_claims
from numberline.claims.evidence import Evidence, NotMeasuredError, Quantity
from numberline.claims.paper_comparison import beside_the_paper
from numberline.claims.quantity import largest, smallest
from numberline.claims.verdicts import Finding, Measurement, combine, decide, examples_needed, judge
from numberline.errors import NumberlineError
from numberline.report.compare import beside, side_by_side, write_comparison
from numberline.report.registry import EXHIBITS
from numberline.report.summary import ledger_rows, verdict
from numberline.report.view import RunView
from numberline.results.folder import RunFolder
from numberline.results.language import PAPER
from numberline.results.result import Result

IDS = list(CLAIMS)


@cache
def found(name: str) -> tuple[Finding, ...]:
    """The ledger where one measurement is spoiled."""
    return ledger(spoiled(name))


@pytest.mark.parametrize(
    ("lo", "hi", "at_least", "at_most"),
    [
        (0.6, 0.8, "holds", "fails"),
        (0.5, 0.8, "holds", "undecided"),
        (0.4, 0.6, "undecided", "undecided"),
        (0.2, 0.5, "undecided", "holds"),
        (0.2, 0.4, "fails", "holds"),
    ],
)
def test_an_interval_clears_the_threshold_or_not(lo, hi, at_least, at_most):
    measured = Quantity((lo + hi) / 2, lo, hi, 100)
    assert judge(measured, "at least", 0.5) == at_least
    assert judge(measured, "at most", 0.5) == at_most


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("holds", "holds"), "holds"),
        (("holds", "undecided"), "undecided"),
        (("holds", "not tested"), "not tested"),
        (("undecided", "not tested"), "not tested"),
        (("holds", "not tested", "undecided", "fails"), "fails"),
        ((), "not tested"),
    ],
)
def test_a_claim_of_several_measurements(verdicts, expected):
    made = tuple(Measurement("x", 0.5, 0.4, 0.6, 9, "at least", 0.5, "why", each) for each in verdicts)
    assert combine(made) == expected


def test_the_least_and_the_most_of_several_judge_all_of_them():
    sure, wide = Quantity(0.6, 0.55, 0.65, 400), Quantity(0.7, 0.4, 0.9, 64)
    assert smallest([sure, wide]) == Quantity(0.6, 0.4, 0.65, 64)
    assert largest([sure, wide]) == Quantity(0.7, 0.55, 0.9, 64)
    assert abs(Quantity(-0.1, -0.3, 0.2, 9)) == Quantity(0.1, 0.0, 0.3, 9)
    assert abs(Quantity(-0.4, -0.5, -0.3, 9)) == Quantity(0.4, 0.3, 0.5, 9)
    with pytest.raises(NotMeasuredError, match="no value"):
        Quantity.of({"mean": math.nan, "lo": 1.0, "hi": 1.0, "n": 20})


def test_an_undecided_measurement_says_how_many_examples_would_decide_it():
    assert examples_needed(Quantity(0.6, 0.4, 0.75, 100), 0.5) == 400
    assert examples_needed(Quantity(0.4, 0.3, 0.7, 100), 0.5) == 900
    assert examples_needed(Quantity(0.5, 0.3, 0.7, 100), 0.5) is None
    results = good()
    accuracy = [{**row, "mean": 0.92, "lo": 0.88, "hi": 0.95} for row in results["behaviour.pairs"].rows("accuracy")]
    results["behaviour.pairs"] = Result.of({"accuracy": accuracy}, 400)
    solves = ledger(results)[0]
    assert solves.verdict == "undecided"
    assert "(n = 400; about 1,600 would decide it)" in solves.why


def test_what_only_stands_beside_does_not_decide():
    results = spoiled("no flag at y2 where it decides")
    flags = next(claim for claim in ledger(results) if claim.id == "three-flags")
    (beside_it,) = (each for each in flags.measurements if not each.counted)
    assert (beside_it.verdict, flags.verdict) == ("fails", "holds")


def test_all_claims_hold_where_everything_is_as_in_the_paper():
    claims = ledger(good())
    assert [claim.id for claim in claims] == IDS
    assert {claim.id: claim.why for claim in claims if claim.verdict != "holds"} == {}
    for claim in claims:
        for measurement in claim.measurements:
            assert measurement.lo <= measurement.value <= measurement.hi
            assert measurement.reason


@pytest.mark.parametrize("name", SPOILED)
def test_each_claim_fails_where_one_of_its_measurements_is_spoiled(name):
    id, _ = SPOILED[name]
    verdicts = {claim.id: claim.verdict for claim in found(name)}
    assert verdicts.pop(id) == ("holds" if name in UNCOUNTED else "fails")
    assert set(verdicts.values()) == {"holds"}, verdicts


def test_every_measurement_of_every_claim_can_fail():
    seen = set()
    for name in SPOILED:
        for claim in found(name):
            seen |= {(claim.id, each.name) for each in claim.measurements if each.verdict == "fails"}
    # What all claims about y2's (and y3's) position rest on is spoiled by one table of the trace, tested below.
    spoken = (claim.spoken(PAPER) for claim in CLAIMS.values())
    expected = {(claim.id, criterion.name) for claim in spoken for criterion in claim.criteria}
    rests = ("recovery of y1's change", "effect of restoring")
    assert {pair for pair in expected - seen if not pair[1].startswith(rests)} == set()


def test_where_the_number_never_arrives_the_algorithm_fails_though_nothing_else_could_be_measured():
    """As on a model whose last token reads the digits: no number layer, so everything behind it is missing."""
    results = good()
    gone = Result.of({}, 0, missing="the role number_layer was not found")
    results |= {id: gone for id in results if id.startswith(("k2.", "behaviour.outcomes", "k3.")) and "trace" not in id}
    for id in ("k2.trace", "k3.trace"):
        rows = [
            {**row, "mean": 0.0, "lo": -0.01, "hi": 0.01}
            if row["position"] != "last" or row["metric"] == "iia"
            else row
            for row in results[id].rows("trace")
        ]
        results[id] = Result.of(complete(id, {"trace": rows}), 64)
    claims = {claim.id: claim for claim in ledger(results)}
    assert claims["solves"].verdict == "holds"
    assert {id for id in IDS if claims[id].verdict == "fails"} == set(IDS) - {"solves", "three-readout"}
    assert claims["three-readout"].verdict == "not tested"
    assert "number_layer was not found" in claims["three-readout"].why


def test_without_results_nothing_is_tested_and_the_reason_is_said():
    for claim in ledger({}):
        assert claim.verdict == "not tested"
        assert "was not run" in claim.why


def test_an_empty_set_of_neurons_carries_nothing():
    results = good()
    rows = [{**row, "mean": 0.85} if row["frozen"] == "shared" else row for row in results["k2.neurons"].rows("sets")]
    results["k2.neurons"] = Result.of(complete("k2.neurons", {"sets": rows}), 64)
    assert next(claim for claim in ledger(results) if claim.id == "neurons").verdict == "fails"


def test_evidence_says_what_is_missing():
    evidence = Evidence(good())
    with pytest.raises(NotMeasuredError, match=r"k9.x was not run"):
        evidence.rows("k9.x", "patches")
    with pytest.raises(NotMeasuredError, match="no table 'nope'"):
        evidence.rows("k2.number", "nope")
    with pytest.raises(NotMeasuredError, match=r"patches \[condition=nope\] has no row"):
        evidence.rows("k2.number", "patches", condition="nope")
    with pytest.raises(NotMeasuredError, match="rows where one was expected"):
        evidence.one("k2.number", "patches")


@pytest.mark.parametrize("id", IDS)
def test_every_claim_is_declared_with_everything_about_it(id):
    claim = CLAIMS[id]
    assert claim.figures
    assert set(claim.figures) <= set(EXHIBITS)
    assert all(sentence.endswith(".") for sentence in (claim.sentence, claim.holds, claim.fails))
    keys = [criterion.key for criterion in claim.criteria if criterion.key]
    assert len(keys) == len(set(keys))
    assert len(keys) == len(claim.criteria), "every criterion has a key, by which the paper's value is found"
    assert claim.effect in keys


def test_the_order_of_the_ledger_is_declared():
    assert IDS[:3] == ["solves", "position", "linear"]
    assert [claim.order for claim in CLAIMS.values()] == list(range(1, len(IDS) + 1))


def test_a_column_that_is_not_there_is_named_and_a_mistake_in_the_code_is_not_hidden():
    results = good()
    trace = results["k2.trace"].tables["trace_choosing"].drop_columns(["position"])
    results["k2.trace"] = replace(Result.of({"trace_choosing": trace}, 64), id="k2.trace")
    (finding,) = (each for each in ledger(results) if each.id == "transport")
    assert finding.verdict == "not tested"
    assert any(each.why.startswith("k2.trace/trace_choosing has no column 'position'") for each in finding.measurements)

    def mistaken(_: Evidence) -> Quantity:
        return {}["position"]

    claim = CLAIMS["solves"]
    broken = replace(claim, criteria=(replace(claim.criteria[0], measure=mistaken),))
    with pytest.raises(KeyError, match="position"):
        decide(broken, Evidence(results))


def test_what_was_not_run_is_said_by_its_id():
    results = good()
    del results["k2.shared"]
    findings = {each.id: each for each in ledger(results)}
    assert findings["plane"].not_run == {"k2.shared"}
    assert findings["solves"].not_run == frozenset()
    gone = {**results, "k2.shared": Result.of({}, 0, missing="no such head")}
    assert next(each for each in ledger(gone) if each.id == "plane").not_run == frozenset()


def test_claims_json(tmp_path):
    path = make_run(tmp_path / "run", model="<b>m</b>")
    claims = write_claims(path)
    written = json.loads((path / FILE).read_text(encoding="utf-8"))
    assert written["model"] == "<b>m</b>"
    assert [claim["id"] for claim in written["claims"]] == IDS
    assert [claim["verdict"] for claim in written["claims"]] == [claim.verdict for claim in claims]
    assert {"value", "lo", "hi", "n", "threshold", "direction", "reason"} <= set(
        written["claims"][0]["measurements"][0]
    )
    assert not list(path.glob("*.partial"))
    with pytest.raises(NumberlineError, match="holds no run"):
        ledger_of(tmp_path)


def test_a_result_that_run_json_does_not_list_is_no_evidence(tmp_path):
    path = make_run(tmp_path / "run")
    about = json.loads((path / "run.json").read_text())
    about["experiments"]["k2.number"]["digest"] = "another"
    (path / "run.json").write_text(json.dumps(about))
    linear = next(claim for claim in ledger_of(path) if claim.id == "linear")
    assert "k2.number was not run" in {each.why for each in linear.measurements}


def test_the_verdict_says_every_claim_with_its_numbers(tmp_path):
    view = RunView(RunFolder.open(make_run(tmp_path / "run", model="mine")))
    text = verdict(ledger(good()), view)
    assert text.startswith(f"Of the paper's {len(IDS)} claims {len(IDS)} hold on mine.")
    assert "–" not in text
    mixed = verdict(ledger(spoiled("no u")), view)
    assert "11 hold on mine, 1 fail" in mixed
    assert "linear (IIA of u 0.10 [0.06, 0.14], at least 0.50 asked)" in mixed
    assert "were not tested" in verdict(ledger({}), view)


def test_ledger_rows_spell_every_measurement():
    rows = ledger_rows(ledger(spoiled("no u")))
    linear = next(row for row in rows if row["id"] == "linear")
    assert (linear["verdict"], linear["symbol"]) == ("fails", "✗")
    assert linear["instead"] == CLAIMS["linear"].spoken(PAPER).fails
    assert not any(row["instead"] for row in rows if row is not linear)
    assert {"name": "IIA of u", "value": "0.10 [0.06, 0.14]", "threshold": "≥ 0.50"}.items() <= linear["measurements"][
        1
    ].items()


def test_beside_the_paper_says_the_difference_and_whether_the_interval_holds_it():
    rows = {row.name: row for row in beside_the_paper(good())}
    u = rows["held-out IIA of u from either initialisation, two digits"]
    assert (u.paper, u.difference, u.inside) == (0.94, pytest.approx(-0.04), True)
    assert rows["cos(v1, v2)"].inside is None
    assert rows["cos(v1, v2)"].difference == pytest.approx(0.0)
    assert rows["tokens of a prompt, two digits: length"].found is not None
    assert "was not run" in rows["IIA of u, y1 perturbed, whole number"].why


def test_runs_side_by_side_are_escaped_and_self_contained(tmp_path):
    paths = [make_run(tmp_path / str(i), model=name) for i, name in enumerate(("<script>1</script>", "b & c"))]
    place = tmp_path / "page.html"
    sections = write_comparison(paths, place)
    text = place.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "b &amp; c" in text
    assert "http" not in text.replace("http-equiv", "")
    assert all(section.title in text.replace("&#39;", "'") for section in sections)
    roles = next(section for section in sections if section.title == "Roles")
    transport = next(row for row in roles.rows if row[0] == "transport head")
    assert transport[-2:] == ("0.40 (L2.H1)", "0.40 (L2.H1)")
    with pytest.raises(NumberlineError, match="is not a folder"):
        write_comparison(paths, tmp_path / "none" / "page.html")


def test_one_run_beside_the_paper(tmp_path):
    section = beside(str(make_run(tmp_path / "run", model="mine")))
    assert section.title == "mine (quick) beside Qwen2.5-7B-Instruct"
    rows = {row[0]: row for row in section.rows}
    assert rows["IIA of u, y1 perturbed, whole number"][1:] == ("0.940", "0.46 [0.42, 0.50]", "−0.480", "no")
    assert rows["tokens of a prompt, three digits: length"][1:3] == ("38", "33")
    few = [rows[f"IIA of a fit on 16 examples: {name}"][1:3] for name in ("on those", "held out")]
    assert few == [("1.000", "0.70 [0.66, 0.74]"), ("0.688", "0.70 [0.66, 0.74]")]
    assert len(side_by_side([tmp_path / "run", tmp_path / "run"])) == 5


def test_the_command_claims(call):
    make_run(Path("run"), model="[red]mine[/red]")
    code, out, err = call("claims", "run")
    assert (code, err) == (0, "")
    assert all(id in out for id in IDS)
    assert "hold on [red]mine[/red]" in out
    code, out, _ = call("claims", "run", "--json")
    assert json.loads(out) == json.loads(Path("run", FILE).read_text(encoding="utf-8"))
    assert call("claims", "nowhere") == (
        2,
        "",
        "numberline: nowhere holds no run (no run.json): give a folder that numberline run has made\n",
    )


def test_the_command_compare(call):
    for name in ("one", "two"):
        make_run(Path(name), model=name)
    code, out, err = call("compare", "one")
    assert (code, err) == (0, "")
    assert "beside Qwen2.5-7B-Instruct" in out
    assert not Path("compare.html").exists()
    code, out, err = call("compare", "one", "two")
    assert (code, err) == (0, "")
    assert "fraction of depth" in out
    assert "Of the paper's 12 claims" in Path("compare.html").read_text(encoding="utf-8").replace("&#39;", "'")
    code, _, err = call("compare", "one", "none")
    assert code == 2
    assert err.count("\n") == 1
