"""The seed of everything that is drawn, unless a user chooses another."""

SEED = 52
