"""Questions that the paper raises and does not answer: one file each."""
