"""What do the comparator neurons respond to when there are three numbers? Receptive fields over (y1, y2, y3).

1. The neurons: the shared set of two numbers, and this task's own, the six of each comparator MLP whose attribution
   (k3.neurons), summed over the cases, is largest.
2. At y3's position: the post-activation value over a grid of (y1, y2, y3) with stride 4, 12,167 prompts. They share
   their beginnings token by token, so each distinct beginning runs once (`Lab.activations`). Shown as the three pairwise
   marginals, each averaged over the third number and divided by its own peak.
3. At y2's position, which cannot depend on y3: over (y1, y2) with y3 = 55.
4. The two numbers of `methods/fields.py` for each: the share of the grid above half the peak, and how much of the field
   the sign of y3 − max(y1, y2) (at y2: of y2 − y1) explains.

Tables
- `fields`: position ("y3", "y2"), layer, neuron, group ("shared", "own"), rank (in its group), peak, active,
  comparator, correlation. A row's place among the rows of its position is its place in the tensors.
- `stages`: position, group, layer, neurons (how many), active, comparator (means).
Tensors: marginals_y3 (rows × 3 × axis × axis; the pairs (y1, y2), (y1, y3), (y2, y3), indexed [first, second]; each
divided by its own peak), fields_y3 (rows × y1 × y2 × y3), fields_y2 (rows × y1 × y2), axis.
"""
