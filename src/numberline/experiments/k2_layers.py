"""From which layer on is there such a direction? u refitted at every layer up to the number layer.

1. At each layer: u by DAS at y1's position (y1 perturbed, 128 fitting examples; at the number layer it is k2.number's),
   and the first principal components of the cloud at y1's and at y2's position.
2. IIA at y1 (y1 perturbed) of a full-rank patch, u and PC1; at y2 (y2 perturbed) of a full-rank patch and v2, that
   layer's first principal component. The paper shows layers 1 to 13; layer 0 is added. u also on the fitting examples.
3. Component along u against y1 at each layer, per value, with the fit p·log y1 + q.

Tables: as in k2_number.py with a first column `layer`: `patches`, `components` (u at y1, v2 at y2), `log_fits`.
Tensors: layers (L), u (L × d), pc1_y1 (L × d), v2 (L × d).
"""
