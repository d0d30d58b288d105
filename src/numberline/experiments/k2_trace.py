"""Where is each operand held, layer by layer? The causal trace of two numbers.

1. 400 evaluation counterfactuals in each case: y1 perturbed, y2 perturbed.
2. The clean residual stream leaving one layer is restored in the corrupted run at one token, in full: every layer,
   every token from the first of y1 to the last of the prompt. One sweep per case.
3. Scores: IIA, position recovery (averaged within the case, as in the paper) and pooled recovery.
4. Two roles are read from the pooled recovery (rules in roles.py): the number layer and the read-out layer.

Tables
- `trace`: case, layer, token (index in the prompt), token_text (of the first example), position ("y1.first", "y1", …,
  "last", or ""), metric (iia, pr, pooled), mean, se, n, lo, hi, near_ties, nonpositive.
- `roles`: number_layer, readout_layer (columns in roles.py).
"""
