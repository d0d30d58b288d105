"""Along which direction is a number held? u at y1, v2 at y2, beside the curved geometry (two digits).

1. u: DAS at resid(number_layer).at("y1") on 128 fitting examples, y1 perturbed; again from a second initialisation.
   Signed so that its component rises with y1 over the 2,000-prompt cloud.
2. Principal components of that cloud at y1's and at y2's position, mean-centred and unscaled. v2 is the first one at
   y2, signed so that its component rises with y2.
3. Patches at y1 (y1 perturbed): full rank, u, u of the second initialisation, PC1, and random directions (5 draws).
   Patches at y2 (y2 perturbed): full rank, v2, random directions. On the evaluation and on the fitting examples.
4. Components along u, PC1, PC2, PC3 (and v2 at y2) per value of the number, as means over the cloud, and the
   least-squares fit p·log y + q to the cloud. Variance explained by the first 20 principal components and by u.

Tables
- `patches`: case, position, condition ("full", "u", "u_second", "pc1", "v2", "random"), examples ("evaluation",
  "fitting"), draws, spread (standard deviation over draws), metric, mean, se, n, lo, hi, near_ties, nonpositive.
- `stability`: initialisation, seed, cosine (absolute, with the first), first_loss, last_loss, iia, fitting_iia.
- `components`: position, direction ("u", "pc1", "pc2", "pc3", "v2"), value, mean, se, n, lo, hi, standardized.
- `log_fits`: position, direction, p, q, r2.
- `variance`: position, direction ("pc1" … "pc20", "u", "v2"), share, cumulative (principal components only).
- `cosines`: first, second, cosine, for u, u_second, pc1 at y1 and v2.

Tensors (d is the model's width): u, u_second, v2 (d); pcs_y1, pcs_y2 (d × 20); values (V), means_y1, means_y2 (V × d,
relative to the cloud's mean); mean_y1, mean_y2 (d); operands (n × 2), projections_y1 (n × 4: u, pc1, pc2, pc3),
projections_y2 (n × 3: pc1 = v2, pc2, pc3); losses (initialisations × steps).
Subspaces: u, u_second, v2.
"""
