"""How is the answer read out? The position of the maximum at the last token of a three-number prompt.

1. The clean residual leaving each layer is restored at the last token, in full, in the three head-group orders. Where
   mean recovery rises most is the role `readout_layer_k3`; the figures show two layers before it and two after.
2. Principal components of the 1,500-prompt cloud at the last token, at those layers, coloured by the winner.
3. At the read-out layer, on evaluation examples: the top two components as a rank-two patch, beside the full-rank patch,
   the first component alone, and random planes.
4. Every head of that layer on its own, without a co-patch, beside the whole attention sublayer. The head that recovers
   most is the role `readout_head`; its attention from the last token, averaged by the position of the maximum.

Tables ("order" is a value order, best first: "y1>y2>y3")
- `layers`: order, layer, metric, mean, se, n, lo, hi, …: the full-rank patch leaving every layer.
- `patches`: order, layer, condition ("full", "pcs", "pc1", "random"), draws, spread, metric, mean, …
- `heads`: order, layer, head (−1: the whole attention sublayer), metric, mean, …
- `attention`: head, winner ("y1", "y2", "y3"), token, token_text, position, mean, se, n, lo, hi.
- `pca`: layer, pc1, pc2 (shares of variance), mean … (how often the two components tell the winner, by the nearest of
  three means, which are taken from the first half of the cloud and tried on the second).
- `roles`: readout_layer_k3, readout_head.
Tensors: projections (shown layers × prompts × 2), shown (those layers), operands (prompts × 3), winner (prompts; 1 to
3), pcs (d × 2, of the read-out layer). Subspaces: k3_answer.
"""
