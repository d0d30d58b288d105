"""How does the transport head carry y1? v1, the direction in its output, and what it attends to.

1. v1: DAS at head(transport).at("y2") on the fitting examples, y1 perturbed. Read from the head's contribution and
   written along itself to the residual stream; signed so that its component rises with y1 over the 3,000-prompt cloud.
2. The share of v1 inside the head's output space, the row space of its slice of W_O, as a norm (the paper's 81 %).
3. Attention of the head from y2's position to y1's tokens, per value of y1.
4. Principal components of the head's output over the cloud; components along v1, PC1, PC2 per value of y1.
5. Patches at the head, y1 perturbed: full rank, v1, PC1, random directions; and v1 in the pre-MLP residual of that
   layer. On the evaluation and on the fitting examples. Random directions lie in the head's output space, where v1
   mostly is: a random direction of the whole stream would meet almost nothing of one head's output.

Tables
- `patches`: as in k2_number.py; conditions "full", "v1", "pc1", "random" and "v1 (pre-MLP)".
- `attention`: value (of y1), token ("y1", "y1.first"), mean, se, n, lo, hi; `attention_all`: token, token_text,
  position, mean: where it looks on average.
- `components`, `log_fits`, `variance`: as in k2_number.py, position "y2", directions "v1", "pc1", "pc2".
- `space`: direction, norm_inside, squared_inside, chance (expected norm of a random direction), rank.
Tensors: v1 (d), pcs (d × 20), mean (d), values (V), means (V × d), operands (n × 2), projections (n × 3: v1, pc1, pc2),
attention (n × 2: to y1.first, to y1), losses. Subspaces: v1.
"""
