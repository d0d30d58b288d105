"""What a run needs on disk, made once in .bench: the models, the examples, and an environment for each other tool."""

import json
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from numberline import Task, answer_ids, clean_operands, corrupted_operands, encode, perturb, pool
from numberline.models.catalogue import BUILT_IN
from numberline.seed import SEED
from tools import PACKAGES
from workloads import Case, Examples

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Size:
    """A model, how many examples each workload has on it, and how many steps a DAS fit."""

    shape: dict[str, int] | None  # None: the trained built-in model
    trace: int
    das: int
    attribution: int
    heads: int
    steps: int = 100

    def examples(self, workload: str) -> int:
        """The number of examples of a workload, in each case."""
        return int(getattr(self, workload))


def _qwen2(layers: int, width: int, heads: int, kv_heads: int, neurons: int, vocabulary: int) -> dict[str, int]:
    return {
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": neurons,
        "vocab_size": vocabulary,
    }


MODELS = {
    "tiny": Size(None, trace=64, das=64, attribution=64, heads=64),
    "large": Size(_qwen2(24, 896, 14, 2, 4864, 151936), trace=2, das=16, attribution=32, heads=8, steps=20),
    "toy": Size(_qwen2(4, 64, 4, 2, 160, 400), trace=2, das=4, attribution=5, heads=3, steps=3),
}
"""The built-in model, a random one of the shape of Qwen2.5-0.5B, and one for trying the benchmark itself."""


def model(name: str, folder: Path) -> Path:
    """A folder with the model's weights; random ones are made from a seed."""
    shape = MODELS[name].shape
    if shape is None:
        if not (BUILT_IN / name / "model.safetensors").exists():
            raise FileNotFoundError(f"the package has no weights of {name!r} yet")
        return BUILT_IN / name
    made = folder / "models" / name
    if not (made / "model.safetensors").exists():
        torch.manual_seed(SEED)
        # Wide enough for every block to change the residual stream visibly: an edit that does nothing tests nothing.
        spread = 1.2 / shape["hidden_size"] ** 0.5
        config = Qwen2Config(**shape, initializer_range=spread, tie_word_embeddings=True, max_position_embeddings=256)
        network = Qwen2ForCausalLM(config).float()
        for key, parameter in network.named_parameters():
            if parameter.dim() == 1:  # norm scales and biases begin as constants, which would hide a mistake
                torch.nn.init.normal_(parameter, 1.0 if "norm" in key else 0.0, 0.1)
        network.save_pretrained(made)
        AutoTokenizer.from_pretrained(BUILT_IN / "tiny").save_pretrained(made)
    return made


def examples(name: str, workload: str, source: Path, number: int | None = None, steps: int | None = None) -> Examples:
    """The first counterfactuals of the evaluation pool, both cases, in the built-in tokenizer's ids."""
    task, tokenizer, size = Task(), AutoTokenizer.from_pretrained(BUILT_IN / "tiny"), MODELS[name]
    tuples = pool(task).evaluation[: number or size.examples(workload)]
    config = json.loads((source / "config.json").read_text())
    cases = {}
    for case in ("y1", "y2"):
        pairs = perturb(task, tuples, case)
        clean = encode(tokenizer, task, clean_operands(pairs))
        corrupted = encode(tokenizer, task, corrupted_operands(pairs))
        cases[case] = Case(clean.ids, corrupted.ids, answer_ids(tokenizer, task, pairs))
    return Examples(
        cases=cases,
        prefix=clean.prefix,
        y1=clean.positions["y1"],
        y2=clean.positions["y2"],
        layer=config["num_hidden_layers"] // 2,
        steps=steps or size.steps,
        start=torch.randn(config["hidden_size"], 1, generator=torch.Generator().manual_seed(SEED)),
    )


def interpreter(tool: str, folder: Path) -> Path:
    """The Python that a tool runs in: this one, or that of an environment with the tool's package from PyPI."""
    name = tool.partition("-")[0]
    if name not in PACKAGES:
        return Path(sys.executable)
    package, home = PACKAGES[name], folder / name
    python = home / "bin" / "python"
    stamp = home / ".installed"
    if not stamp.exists():
        print(f"making an environment for {package} in {home}", file=sys.stderr, flush=True)
        venv.create(home, with_pip=True)
        (torch_pin,) = [
            line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch==")
        ]
        for wanted in (torch_pin, package):
            command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted]
            subprocess.run(command, check=True, capture_output=True, text=True)
        stamp.touch()
    return python


def versions(python: Path) -> dict[str, str]:
    """The versions of what matters in an environment."""
    wanted = ["torch", "transformers", "pyvene", "nnsight", "transformer-lens"]
    code = (
        "import json, importlib.metadata as m\n"
        f"print(json.dumps({{d.name.lower(): d.version for d in m.distributions() if d.name.lower() in {wanted}}}))"
    )
    found: dict[str, str] = json.loads(subprocess.run([python, "-c", code], check=True, capture_output=True).stdout)
    return found
