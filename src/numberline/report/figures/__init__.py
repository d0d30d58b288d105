"""The figures of the paper, one file per family."""
