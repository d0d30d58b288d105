"""Does each number's position hold a flag "the largest so far"? One direction at y2's and at y3's position.

1. In the residual leaving the flag layer a rank-one direction is fitted by DAS on the fitting examples: at y3 in each of
   the three perturbation cases, at y2 in the two in which something that y2 can see changes.
2. Each is evaluated, without refitting, in every case at its position, on evaluation and on fitting examples, beside the
   full-rank patch of that residual and random directions.
3. Signed so that the component is larger where the position's own number is the largest so far; the component over the
   1,500-prompt cloud, and how well its sign tells (`separation`).

Tables
- `patches`: position ("y2", "y3"), layer, case, condition ("flag_y1", "flag_y2", "flag_y3": by the case it was fitted
  in; "full", "random"), examples, draws, spread, metric, mean, se, n, lo, hi, near_ties, nonpositive.
- `cloud`: y1, y2, y3, and one column for each flag, named flag_POSITION_CASE: flag_y2_y1, flag_y2_y2, flag_y3_y1, ….
- `separation`: position, fitted (the case), mean … (accuracy of a threshold), auc, d_prime.
- `cosines`: first, second (flag_POSITION_CASE), cosine.
Tensors: flag_POSITION_CASE (d). Subspaces: k3_flag_POSITION_CASE.
"""
