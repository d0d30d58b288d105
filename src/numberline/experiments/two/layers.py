"""From which layer on is there such a direction? u refitted at every layer up to the number layer.

1. At each layer: u by DAS at y1's position (y1 perturbed, 128 fitting examples; at the number layer it is k2.number's),
   and the first principal components of the cloud at y1's and at y2's position.
2. IIA at y1 (y1 perturbed) of a full-rank patch, u and PC1; at y2 (y2 perturbed) of a full-rank patch and v2, that
   layer's first principal component. The paper shows layers 1 to 13; layer 0, random directions
   and the fitting examples are added.
3. Component along u against y1 at each layer, per value, with the fit p·log y1 + q.

Tables: as in two/number.py with a first column `layer`: `patches`, `components` (u at y1, v2 at y2), `log_fits`.
Tensors: layers (L), u (L × d), pc1_y1 (L × d), v2 (L × d).
"""

from typing import Any

import torch
from torch import Tensor

from numberline.engine.lab import Lab
from numberline.engine.sites import resid
from numberline.experiments.common import roles
from numberline.experiments.common.directions import EXAMPLES, Cloud, Place, along
from numberline.experiments.common.examples import case_pairs
from numberline.experiments.common.experiment import Context, Result, experiment
from numberline.experiments.two.patches import RANDOM_DRAWS
from numberline.methods import clouds, das
from numberline.methods.draws import draw_rows
from numberline.tasks.layout import encode
from numberline.tasks.populations import cloud
from numberline.tasks.task import Task


@experiment("k2.layers", needs=("k2.trace", "k2.number"))
def layers(lab: Lab, context: Context) -> Result:
    """From which layer on does a single direction carry the {noun}?"""
    last, known = roles.require(context, "number_layer").layer, context.subspace("k2.number", "u")
    task, sizes = Task(context.concept), context.sizes
    operands = cloud(task, sizes.number_cloud, context.seed)
    prompts = encode(lab.tokenizer, task, operands)
    places = [Place(operand, resid(layer).at(operand)) for layer in range(last + 1) for operand in task.operands]
    found = [
        Cloud.of(lab, place, x, operands)
        for place, x in zip(places, clouds.read(lab, prompts, [place.site for place in places]), strict=True)
    ]
    at_y1, at_y2 = found[0::2], found[1::2]
    pairs_of = {
        (case, kind): case_pairs(lab, context, task, case, kind, upto=last)
        for case in task.operands
        for kind in EXAMPLES
    }
    fitting = pairs_of["y1", "fitting"]
    patched = (last + 1) * (5 + 2 * RANDOM_DRAWS) * (sizes.evaluation + sizes.fitting)
    random = das.random_subspaces(lab.network.d_model, 1, RANDOM_DRAWS, context.seed)
    count = context.meter(last * das.STEPS * sizes.fitting + patched)

    tables: dict[str, list[dict[str, Any]]] = {"patches": [], "components": [], task.concept.fits: []}
    directions: dict[str, list[Tensor]] = {"u": [], "pc1_y1": [], "v2": []}
    for layer, (one, two) in enumerate(zip(at_y1, at_y2, strict=True)):
        u = known
        if layer < last:
            site = resid(layer).at("y1")
            fit = das.fit(
                fitting,
                site,
                seeds=(context.seed,),
                progress=lambda done: count(done * len(fitting)),
                patience=sizes.patience,
            )
            u = one.signed(fit[0].subspace)
        pc1, v2 = one.component(1), two.component(1)
        tried = {
            "y1": {"full": None, "u": u, "pc1": pc1, "random": random},
            "y2": {"full": None, "v2": v2, "random": random},
        }
        for (case, kind), pairs in pairs_of.items():
            labels = {"layer": layer, "case": case, "position": case, "examples": kind}
            tables["patches"] += draw_rows(pairs, along(pairs, resid(layer).at(case), tried[case]), labels, count)
        for each_cloud, named in ((one, {"u": u}), (two, {"v2": v2})):
            tables["components"] += [{"layer": layer, **row} for row in each_cloud.by_value(named)]
            tables[task.concept.fits] += [{"layer": layer, **row} for row in each_cloud.fits(task.concept, named)]
        for name, space in (("u", u), ("pc1_y1", pc1), ("v2", v2)):
            directions[name].append(space.basis[:, 0])
    tensors = {name: torch.stack(vectors) for name, vectors in directions.items()}
    return Result.of(tables, n=len(pairs_of["y1", "evaluation"]), tensors={"layers": torch.arange(last + 1), **tensors})
