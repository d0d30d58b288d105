"""Each bad input of docs/bad-input.md is given to the command line, and answered with the sentence on that page.

The page's table has a row for each case: what is given, and what is printed, with … for what differs from time to time.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import constants
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

from gguf_files import write_gguf
from numberline.models.catalogue import BUILT_IN

PAGE = Path(__file__).parents[1] / "docs/bad-input.md"


def listed(title: str) -> dict[str, str]:
    """The sentences of one of the page's tables, by what is given."""
    (section,) = (part for part in PAGE.read_text().split("\n## ") if part.startswith(title))
    return dict(re.findall(r"^\| (.+?) \| `(.+)` \|$", section, re.MULTILINE))


LISTED = listed("Models")
GIB = 2**30


def copy(**config: Any) -> list[str]:
    """`tiny` in the folder `model`, with other settings in its config."""
    shutil.copytree(BUILT_IN / "tiny", "model")
    path = Path("model/config.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return ["model"]


def without(*patterns: str) -> list[str]:
    copy()
    for pattern in patterns:
        for file in Path("model").glob(pattern):
            file.unlink()
    return ["model"]


def overwritten(file: str, content: bytes | Callable[[bytes], bytes]) -> list[str]:
    copy()
    path = Path("model") / file
    path.write_bytes(content(path.read_bytes()) if callable(content) else content)
    return ["model"]


def not_a_number() -> list[str]:
    weights = load_file(BUILT_IN / "tiny/model.safetensors")
    weights["model.layers.3.mlp.up_proj.weight"][5, 7] = float("nan")
    copy()
    save_file(weights, "model/model.safetensors", {"format": "pt"})
    return ["model"]


def pickled() -> list[str]:
    without("*.safetensors")
    torch.save({}, "model/pytorch_model.bin")
    return ["model"]


def other_architecture(kind: str, **config: Any) -> list[str]:
    without("*.safetensors", "config.json")
    small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
    asked = AutoConfig.for_model(kind, vocab_size=306, pad_token_id=0, **{**small, **config})
    AutoModelForCausalLM.from_config(asked).save_pretrained("model")
    return ["model"]


def slow_tokenizer() -> list[str]:
    without("tokenizer*")
    copied = json.loads(Path("model/config.json").read_text())
    Path("model/config.json").write_text(json.dumps({**copied, "model_type": "ctrl"}))
    Path("model/vocab.json").write_text('{"<unk>": 0}')
    Path("model/merges.txt").write_text("#version: 0.2\n")
    return ["model"]


def fewer_tokens() -> list[str]:
    weights = load_file(BUILT_IN / "tiny/model.safetensors")
    copy(vocab_size=100)
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        weights[name] = weights[name][:100].clone()
    save_file(weights, "model/model.safetensors", {"format": "pt"})
    return ["model"]


def quantised(damage: bool = False, twice: bool = False, architecture: str = "qwen2") -> list[str]:
    Path("model").mkdir()
    file = Path("model/small.gguf")
    write_gguf(file, BUILT_IN / "tiny", quantised=True, architecture=architecture)
    if damage:
        file.write_bytes(file.read_bytes()[:5000])
    if twice:
        shutil.copy(file, "model/other.gguf")
    return ["model"]


def from_the_hub(monkeypatch, error: type[Exception]) -> list[str]:
    """The Hub's own answers, as huggingface_hub raises them; there is no network in the tests."""
    response = type("Response", (), {"headers": {}, "status_code": 403, "request": None, "text": ""})()

    def answer(*_: Any, **__: Any) -> None:
        raise error("the Hub says no", response=response)

    monkeypatch.setattr("transformers.utils.hub.hf_hub_download", answer)
    return ["somebody/model"]


def little_memory(monkeypatch) -> list[str]:
    Path("memory.max").write_text(str(GIB + 2_000_000))
    Path("memory.current").write_text(str(GIB))
    monkeypatch.setattr("numberline.models.free_memory.CGROUP", Path.cwd())
    return ["tiny"]


def no_network(monkeypatch) -> list[str]:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return ["somebody/model"]


def no_package(monkeypatch) -> list[str]:
    monkeypatch.setitem(sys.modules, "gguf", None)
    Path("small.gguf").write_bytes(b"GGUF")
    return ["small.gguf"]


LAYERS = ["full_attention"]
CASES: dict[str, Callable[[Any], list[str]]] = {
    "a weights file that was cut off": lambda _: overwritten("model.safetensors", lambda old: old[: len(old) // 2]),
    "a weights file that is something else": lambda _: overwritten("model.safetensors", b"<html>not found</html>" * 99),
    "a folder without weights": lambda _: without("*.safetensors"),
    "a folder with pickled weights only": lambda _: pickled(),
    "a folder without a config": lambda _: without("config.json"),
    "a config that is no JSON": lambda _: overwritten("config.json", b"{"),
    "a config that makes no sense": lambda _: copy(hidden_size="large"),
    "a config with more layers than the weights": lambda _: copy(num_hidden_layers=7, layer_types=LAYERS * 7),
    "a config with fewer layers than the weights": lambda _: copy(num_hidden_layers=5, layer_types=LAYERS * 5),
    "a config of another width": lambda _: copy(intermediate_size=400),
    "an architecture that transformers does not know": lambda _: copy(model_type="perceptron"),
    "an architecture that no row describes": lambda _: other_architecture("mamba"),
    "a model with code of its own": lambda _: copy(model_type="mine", auto_map={"AutoConfig": "code.Config"}),
    "an encoder with a decoder": lambda _: copy(model_type="t5"),
    "weights that are not numbers": lambda _: not_a_number(),
    "no fast tokenizer": lambda _: slow_tokenizer(),
    "no tokenizer": lambda _: without("tokenizer*"),
    "a tokenizer that is no JSON": lambda _: overwritten("tokenizer.json", b"{"),
    "the tokenizer of another model": lambda _: fewer_tokens(),
    "a path that is not there": lambda _: ["./model"],
    "a file that is no model": lambda _: [str(shutil.copy(BUILT_IN / "tiny/config.json", "model.json"))],
    "a model that is neither here nor on the Hub": lambda patch: from_the_hub(patch, RepositoryNotFoundError),
    "a gated model": lambda patch: from_the_hub(patch, GatedRepoError),
    "a revision that is not there": lambda patch: [*from_the_hub(patch, RevisionNotFoundError), "--revision", "v9"],
    "a revision of a model on this machine": lambda _: ["tiny", "--revision", "v9"],
    "no network": no_network,
    "a GGUF file that was cut off": lambda _: quantised(damage=True),
    "a folder with several GGUF files": lambda _: quantised(twice=True),
    "a GGUF file of an architecture that transformers does not know": lambda _: quantised(architecture="perceptron"),
    "a GGUF file without the package gguf": no_package,
    "a GGUF file that is not there": lambda _: ["model.gguf"],
    "a device that is not there": lambda _: ["tiny", "--device", "cuda:7"],
    "a device that does not exist": lambda _: ["tiny", "--device", "abacus"],
    "a dtype that does not exist": lambda _: ["tiny", "--dtype", "int3"],
    "too little memory": little_memory,
}


def pattern(sentence: str) -> str:
    return "numberline: " + ".*".join(re.escape(part) for part in sentence.split("…")) + "\n"


def test_the_page_lists_every_case():
    assert list(LISTED) == list(CASES)


@pytest.mark.parametrize("case", CASES)
def test_a_bad_input_is_answered_with_the_sentence_on_the_page(case, call, monkeypatch):
    code, out, err = call("behaviour", *CASES[case](monkeypatch), "--size", "quick")
    assert re.fullmatch(pattern(LISTED.get(case, "")), err), err
    assert (code, out) == (2, "")
    assert not list(Path.cwd().rglob("*.partial"))


LIMITED = """
import resource
import psutil
from numberline.engine.loading import load
from numberline.errors import NumberlineError
load("tiny", "cpu")
resource.setrlimit(resource.RLIMIT_AS, (psutil.Process().memory_info().vms + 40 * 2**20, resource.RLIM_INFINITY))
try:
    load("model", "cpu")
except NumberlineError as error:
    print(error)
"""


def test_memory_that_runs_out_while_loading_is_a_sentence(tmp_path, monkeypatch):
    """A real limit, of forty megabytes beyond what the process has, and a model of a hundred."""
    monkeypatch.chdir(tmp_path)
    other_architecture("qwen2", hidden_size=512, intermediate_size=8000, num_key_value_heads=4)
    done = subprocess.run([sys.executable, "-c", LIMITED], check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout == (
        "memory ran out while 'model' was loaded: use a smaller model, --dtype bfloat16, or --device-map auto\n"
    )
