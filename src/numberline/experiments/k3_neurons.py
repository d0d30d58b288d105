"""Which neurons compare three numbers? Freezing while the span of v1, v2, v3 is patched at y3's position.

The two-number method (`comparing.py`) with one more number:

1. The span of v1, v2, v3 is patched in the pre-MLP residual of the transport layer at y3, in each perturbation case.
   Meanwhile one sub-block's output at y3 is pinned to its value in the unpatched corrupted run.
2. All neurons of the comparator MLPs (those of two numbers, as in the paper) are ranked by this task's own attribution
   on the fitting examples; the top k are frozen on the evaluation examples, against two random draws of k.
3. The shared neurons of two numbers are re-used unchanged: frozen here, beside this task's own top 20 and as many
   random ones.

The paper scores this by position recovery, for three-number IIA is near zero in cases y1 and y2.

Tables
- `blocks`: case, frozen ("none", "attention 15", "mlp 14", "mlp 14+15"), kind, layers, metric, mean, se, n, lo, hi, …
- `costs`: case, layer, mean, …: pooled recovery lost by freezing that MLP alone.
- `freeze`: case, ranking ("attribution", "random"), draw (−1: none), k, metric, mean, …
- `sets`: case, frozen ("none", "shared": the two-number set, "own", "random"), draw, k, metric, …
- `scores`: layer, neuron, y1, y2, y3 (its score in each case), rank_y1, rank_y2, rank_y3 (from 1), shared (in the
  two-number set); all neurons.
- `overlap`: case, top (20), shared (how many two-number neurons are in this case's top 20), of (how many there are).
Tensors: scores (cases × layers × neurons); layers.
"""
