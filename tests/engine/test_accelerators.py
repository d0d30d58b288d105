"""Is every tensor of a recording made on the device of its block? Shown without an accelerator, in another process.

1. torch's fake tensors have a shape and a device and no numbers; an operation on tensors of two devices is an error.
2. A fake CUDA tensor cannot even be indexed by a torch that is built without CUDA (its device guard is not linked). So
   the devices are those of a backend in Python that has a guard and nothing else, called `pretend`.
3. Prompts are recorded with all weights on one such device, and with the second half of the blocks on another.

Edited runs cannot be shown so: indices given as lists become real tensors of that backend below the fake ones
(aten::empty_strided), and choices that depend on numbers (torch.equal, unique) have no answer. What those do with
weights in two places is shown with real numbers, a half of the model on disk, in test_spread.py.
"""

import subprocess
import sys

PRETEND = """
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM
from numberline.engine.attention import _mask
from numberline.engine.lab import Lab
from numberline.models.catalogue import BUILT_IN
from numberline.models.loaded import LoadedModel
from numberline.models.network import Network
from numberline.tasks import Task, encode

_setup_privateuseone_for_python_backend("pretend")
tokenizer = AutoTokenizer.from_pretrained(BUILT_IN / "tiny")
prompts = encode(tokenizer, Task(), [(60, 10), (33, 99)])
sizes = {"hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2, "num_key_value_heads": 1}
config = Qwen2Config(vocab_size=306, intermediate_size=24, **sizes)


def devices(elsewhere):
    \"\"\"Where the parts of a recording are, with some blocks, or modules, on a second device.\"\"\"
    model = Qwen2ForCausalLM(config).eval().requires_grad_(False)
    second = {id(part) for chosen in elsewhere(model) for part in chosen.modules()}
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    for module in model.modules():
        device = torch.device("pretend:1" if id(module) in second else "pretend:0")
        for held in (module._parameters, module._buffers):
            for name, tensor in held.items():
                if tensor is not None:
                    held[name] = FakeTensor(mode, tensor.detach().to("meta"), device)
    lab = Lab.of(LoadedModel("pretend", Network.of(model), tokenizer, "0"))
    _mask.cache_clear()
    with mode:
        recording = lab.record(prompts)
    return sorted({str(tensor.device) for tensor in recording.question.values()})


print(*devices(lambda model: []))
print(*devices(lambda model: model.model.layers[2:]))
try:
    print(*devices(lambda model: [model.model.layers[2].mlp.down_proj]))
except RuntimeError as error:
    print("found" if "pretend:1" in str(error) else error)
"""


def test_a_recording_is_where_its_blocks_are_and_what_is_not_is_found():
    """On one device, on two, and with one matrix elsewhere than the rest of its block."""
    done = subprocess.run([sys.executable, "-c", PRETEND], capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout.splitlines() == ["pretend:0", "pretend:0 pretend:1", "found"], done.stderr[-2000:]
