"""Exact edits at the cost of what they change: recordings, sites, edits, the suffix re-run, decoding.

Knows nothing of numbers: a prompt is token ids with named positions.
"""

from numberline.engine.edits import Edit, add, freeze, set_coordinates, swap, transform, zero
from numberline.engine.lab import Lab, Read, Reading
from numberline.engine.prompts import Prompts
from numberline.engine.recording import Recording
from numberline.engine.sites import EVERYWHERE, Site, attn, head, mid, mlp, neurons, pattern, resid
from numberline.engine.subspace import Subspace

__all__ = [
    "EVERYWHERE",
    "Edit",
    "Lab",
    "Prompts",
    "Read",
    "Reading",
    "Recording",
    "Site",
    "Subspace",
    "add",
    "attn",
    "freeze",
    "head",
    "mid",
    "mlp",
    "neurons",
    "pattern",
    "resid",
    "set_coordinates",
    "swap",
    "transform",
    "zero",
]
