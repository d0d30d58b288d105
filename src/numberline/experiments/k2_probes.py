"""What can be read off linearly, and where? Ridge probes at every layer and question token.

1. The 2,000-prompt cloud; a fifth is held out. A pair and its mirror image are held out together, so that no probe has
   seen the held-out numbers in the other order (the paper does not say how its fifth was drawn).
2. At every layer and every token from y1's first to the last: ridge regression of log y1 and of log y2, and a ridge
   classifier of y1 > y2. The penalty is one of 13 log-spaced values in [1e-2, 1e4], chosen by the leave-one-out error,
   in closed form; activations are mean-centred and not scaled.
3. Held-out R² for the logarithms, held-out accuracy for the comparison.
4. A token cannot know an operand that comes after it: the scores there are the floors.

Tables
- `probes`: target ("log_y1", "log_y2", "y1>y2"), layer, token, token_text, position, knows ("nothing", "part", "all":
  how much of what the target needs the token has seen), penalty, mean, se, n, lo, hi.
- `floors`: target, layer, token, mean, lo, hi: the best score among sites that know nothing of the operand in question
  (for y1 > y2: that have not seen y2). There is none for log y1, which every question token has seen.
"""
