"""The tables of the paper, one file per question."""
