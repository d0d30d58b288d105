"""Which head carries y1 to y2's position? The heads of the layer after the number layer.

1. y1 perturbed, evaluation examples. Each head's contribution at y2's position is restored, together with a restoration
   along v2 of the residual leaving the number layer at the same position: a single head written into a corrupted
   residual stream has almost no effect.
2. The co-patch alone is the baseline; the same sweep without the co-patch stands beside. All in one sweep.
3. The excess of a head is its pooled recovery with the co-patch minus the baseline's, paired by example.
4. The head with the largest excess is the role transport_head.

Tables
- `heads`: layer, head (−1: none), condition ("with v2", "alone", "v2": the baseline), metric (iia, pr, pooled), mean,
  se, n, lo, hi, near_ties, nonpositive.
- `excess`: layer, head, mean, se, n, lo, hi.
- `roles`: transport_head.
"""
