"""For every test: shapes are checked at run time, small matrices are not spread over threads, no Hub is asked."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from jaxtyping import install_import_hook

torch.set_num_threads(1)
install_import_hook("numberline", "beartype.beartype")
