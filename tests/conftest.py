"""For every test: shapes are checked at run time, and small matrices are not spread over threads."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
from jaxtyping import install_import_hook

torch.set_num_threads(1)
install_import_hook("numberline", "beartype.beartype")
