"""With which settings are directions learned and probes fitted? The paper's hyperparameters that are no sample sizes.

They stand here, without torch, because methods use them and the report's table says them (sizes: tasks/sizes.py).
"""

STEPS = 100
"""Of Adam, for a learned direction."""
RATE = 0.05
"""Its learning rate."""
HALF_PRECISION_SCALE = 100.0
"""What a loss is multiplied by before a backward pass in half precision."""
PENALTIES = (-2, 4, 13)
"""The ridge penalties: from ten to this power, to that, so many at equal ratios."""
HELD_OUT = 0.2
"""The share of a cloud on which probes are scored."""
