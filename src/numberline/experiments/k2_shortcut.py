"""Why is v2 a principal component and not learned? The direction that DAS finds at y2, against v2.

1. A rank-one direction by DAS at resid(number_layer).at("y2") on the fitting examples, y2 perturbed.
2. Components along it and along v2 over the 2,000-prompt cloud, by value of y2 and by which number is larger. If the
   learned one follows the outcome, the two groups part at the same y2; `outcome` says how far.
3. Patches at y2, y2 perturbed: full rank, the learned direction (das), v2, random directions.

Tables
- `patches`: as in k2_number.py, conditions "full", "das", "v2", "random".
- `components`: direction ("das", "v2"), larger ("y1", "y2"), value (of y2), mean, se, n, lo, hi.
- `outcome`: direction, value_r2 (variance that y2's per-value means explain), both_r2 (per-value means of each outcome
  apart), cosine (with v2).
Tensors: das, v2 (d), operands (n × 2), projections (n × 2: das, v2). Subspaces: shortcut.
"""
