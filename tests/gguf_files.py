"""Small GGUF files, written with the package that defines the format, from a Qwen2 model and its tokenizer."""

import json
from pathlib import Path

import gguf
from transformers import AutoModelForCausalLM, AutoTokenizer

ORDINARY, SPECIAL = 1, 3
"""How the format numbers kinds of tokens."""


def write_gguf(path: Path, folder: Path, quantised: bool = False, architecture: str = "qwen2") -> None:
    """The model of a Hugging Face folder as one file: in float32, or with its matrices in eight bits (Q8_0)."""
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    config = model.config
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("small")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    _write_tokenizer(writer, json.loads(tokenizer.backend_tokenizer.to_str()))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        values = tensor.float().numpy()
        stored = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if quantised and values.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(stored, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(stored, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_tokenizer(writer: gguf.GGUFWriter, rules: dict) -> None:
    special = {token["content"] for token in rules["added_tokens"]}
    tokens = sorted(rules["model"]["vocab"], key=rules["model"]["vocab"].get)
    tokens = [*(token for token in special if token not in tokens), *tokens]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([SPECIAL if token in special else ORDINARY for token in tokens])
    writer.add_token_merges([" ".join(pair) if isinstance(pair, list) else pair for pair in rules["model"]["merges"]])
    writer.add_eos_token_id(0)
    writer.add_pad_token_id(0)
