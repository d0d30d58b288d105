"""Which figures can be looked at closer? By label, the plots that stand under the picture."""

from collections.abc import Callable, Mapping

from numberline.report.interactive import number, shared_plane, three, trace_and_probes
from numberline.report.interactive.plot import Plot
from numberline.report.view import RunView

PLOTS: Mapping[str, tuple[Callable[[RunView], Plot], ...]] = {
    "number-reps": (number.manifold,),
    "shared-rep": (shared_plane.plane, shared_plane.dose),
    "three-number-compare": (three.numbers,),
    "app-trace-k2": (trace_and_probes.trace("k2.trace"),),
    "app-probes-k2": (trace_and_probes.probes,),
    "app-trace-k3": (trace_and_probes.trace("k3.trace"),),
    "app-attribution": (shared_plane.attribution,),
    "app-rf-shared": (shared_plane.fields("shared"),),
    "app-k3-readout-pca": (three.readout,),
}
