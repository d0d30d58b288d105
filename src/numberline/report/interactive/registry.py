"""Which figures can be looked at closer? By label, the plots that stand under the picture."""

from collections.abc import Callable, Mapping

from numberline.report.facts import Facts
from numberline.report.interactive import number, shared, three, where
from numberline.report.interactive.plot import Plot

PLOTS: Mapping[str, tuple[Callable[[Facts], Plot], ...]] = {
    "number-reps": (number.manifold,),
    "shared-rep": (shared.plane, shared.dose),
    "three-number-compare": (three.numbers,),
    "app-trace-k2": (where.trace("k2.trace"),),
    "app-probes-k2": (where.probes,),
    "app-trace-k3": (where.trace("k3.trace"),),
    "app-attribution": (shared.attribution,),
    "app-rf-shared": (shared.fields("shared"),),
    "app-k3-readout-pca": (three.readout,),
}
