"""How is one planted model put to the test? A blind run, then the comparison with the truth.

1. A case is a seed, a noise and a variant of the planted model. `planted` returns the model and its truth.
2. The model alone goes into a run, as any model does: the same experiments, the same folder, which a stopped
   verification continues. The run knows neither seed nor truth.
3. Then its results are compared with the truth, line by line (`sites_and_directions.py`, `neurons.py`), and its ledger
   is read.

A broken variant is asked one thing: does the claim that it breaks fail, and nothing else but what depends on it?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transformers import AutoTokenizer

from numberline.claims import CLAIMS, Finding, ledger
from numberline.engine.lab import Lab
from numberline.errors import NumberlineError
from numberline.models.loaded import wrap
from numberline.models.planted import Truth, planted
from numberline.models.planted.compile import TOKENIZER
from numberline.results.folder import RunFolder
from numberline.runs.run import Run, Settings, Watcher
from numberline.verify.check import BlindRun, Check, absent, share_at_least
from numberline.verify.neurons import dose, edges, fields, neurons, weights
from numberline.verify.sites_and_directions import components, decoys, directions, heads, roles

EXPERIMENTS = (
    "behaviour.pairs", "behaviour.outcomes", "k2.connectivity", "k2.dose", "k2.fields", "k2.flag", "k2.shared",
    "k3.directions", "k3.flags", "k3.heads", "k3.readout",
)  # fmt: skip
"""What a case runs, and with it all that these need."""
LONGEST = ("k3.directions", "k3.flags")
"""What a quick look leaves out: two thirds of the time."""
BROKEN = tuple(variant for claim in CLAIMS.values() for variant in claim.broken_by)
"""The variants of the planted model on which a claim must fail."""
NOISES = (0.0, 0.00001, 0.00003)
"""The noise of a verification unless the user says so."""
SEEDS = range(5)
"""The seeds of a verification unless the user says so."""
MOST_SEEDS = 10_000
NOISY = 0.95
"""The accuracy that is asked of a model with noise."""
STANDS = ("holds", "undecided")
"""A claim that its examples do not decide has not failed: what sampling error alone can do is tolerated."""


@dataclass(frozen=True, order=True)
class Case:
    """One planted model."""

    seed: int = 0
    noise: float = 0.0
    variant: str | None = None

    @property
    def name(self) -> str:
        """The case's folder."""
        words = [f"seed{self.seed}"] + ([f"noise{self.noise:g}"] if self.noise else [])
        return "-".join(words + ([self.variant] if self.variant else []))


def read_seeds(text: str) -> list[int]:
    """Seeds as they are written: "3", "100-119", "3,7,11", or several of these with commas between them."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(last or first) < int(first):
            raise NumberlineError(f"{text!r} names no seeds: write a range (100-119), a list (3,7,11), or one number")
        if int(last or first) - int(first) >= MOST_SEEDS:
            raise NumberlineError(f"{part.strip()!r} is more than {MOST_SEEDS} seeds: name fewer")
        seeds += range(int(first), int(last or first) + 1)
    return list(dict.fromkeys(seeds))


def plan(seeds: Sequence[int], noises: Sequence[float] | None, variants: int) -> list[Case]:
    """Every model of a verification: each noise with each seed, then every broken variant on the first few seeds."""
    levels = sorted(set(NOISES if noises is None else noises))
    intact = [Case(seed, level) for level in levels for seed in seeds]
    return intact + [Case(seed, 0.0, name) for name in BROKEN for seed in seeds[:variants]]


def build(case: Case) -> tuple[Lab, Truth]:
    """The model in its lab, and the truth."""
    model, truth = planted(case.seed, case.noise, case.variant)
    return Lab.of(wrap(model, AutoTokenizer.from_pretrained(TOKENIZER), "planted")), truth


def verify(case: Case, out: Path, size: str, watcher: Watcher, left_out: Sequence[str] = ()) -> list[Check]:
    """Run a case and compare; what was left out is not asked."""
    lab, truth = build(case)
    settings = Settings(size)
    run = Run(lab, RunFolder(out / case.name), settings)
    run.execute([id for id in EXPERIMENTS if id not in left_out], watcher)
    results = {id: result for id, result in run.folder.results.items() if id not in left_out}
    blind = BlindRun(results, truth, frozenset(left_out))
    findings = [each for each in ledger(results) if not each.not_run & set(left_out)]
    if case.variant is not None:
        return broken(case.variant, findings)
    context = settings.context
    return [
        *behaviour(blind),
        *roles(blind),
        *directions(blind, lab),
        *components(blind),
        *decoys(blind, lab, context),
        *heads(blind),
        *neurons(blind),
        *fields(blind, lab),
        *weights(blind),
        *edges(blind, lab, context),
        *dose(blind),
        *(Check("claims", each.id, each.verdict, "holds", each.verdict in STANDS) for each in findings),
    ]


def behaviour(blind: BlindRun) -> list[Check]:
    """How many pairs and triples of two digits are answered right."""
    rows = blind.rows("behaviour.pairs", "accuracy", digits=2)
    bar = NOISY if blind.truth.noise else 1.0
    if not rows:
        return [absent("behaviour", "pairs and triples", f"accuracy ≥ {bar:g}")]
    worst = min(rows, key=lambda row: float(row["mean"]))
    return [share_at_least("behaviour", "pairs and triples, the worse of the two", worst, bar, "accuracy")]


def broken(variant: str, findings: Sequence[Finding]) -> list[Check]:
    """The claim that a variant breaks, and all others but those that are measured with what is broken."""
    checks = [
        Check("broken", f"{variant}: {each.id}", each.verdict, "fails", each.verdict == "fails")
        for each in findings
        if variant in each.claim.broken_by
    ]
    spared = [each for each in findings if variant not in (*each.claim.broken_by, *each.claim.falls_with)]
    fallen = [f"{each.id} {each.verdict}" for each in spared if each.verdict not in STANDS]
    words = ", ".join(fallen) or f"{sum(each.verdict == 'holds' for each in spared)} of {len(spared)} hold"
    return [*checks, Check("broken", f"{variant}: others", words, "hold", not fallen)]
