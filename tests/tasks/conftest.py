import pytest
import tokenizer_zoo
from transformers import PreTrainedTokenizerFast

FAMILIES = ["qwen", "builtin", "smollm", "llama2", "gemma", "llama3", "gpt2", "gpt2_with_eos", "metaspace_whole"]


@pytest.fixture(params=FAMILIES)
def tokenizer(request: pytest.FixtureRequest) -> PreTrainedTokenizerFast:
    """Each family of tokenizers in turn."""
    return getattr(tokenizer_zoo, request.param)()
