"""Why could a model not be loaded? What the libraries raise, as one sentence that says what to do.

transformers wraps the reason in errors of its own, so the whole chain of causes is looked at: the first row that knows
one of them decides.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path

import torch
from huggingface_hub.errors import (
    GatedRepoError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    StrictDataclassError,
)
from safetensors import SafetensorError, safe_open

from numberline.errors import NumberlineError
from numberline.models.catalogue import COMPILED, TRAINED

NAMES = ", ".join((*TRAINED, *COMPILED))
LOCAL = f"it is no built-in model ({NAMES}), no folder of this machine"
SMALLER = "use a smaller model, --dtype bfloat16, or --device-map auto"


@dataclass(frozen=True)
class Refusal:
    """Errors (with these words in them, if any), and what they mean for the model {name}."""

    errors: tuple[type[BaseException], ...]
    sentence: str
    words: str = ""

    def means(self, error: BaseException) -> bool:
        """Whether this is such an error."""
        return isinstance(error, self.errors) and self.words in str(error)


REFUSALS = (
    Refusal(
        (GatedRepoError,),
        "'{name}' is a gated model of the Hugging Face Hub: ask for access on its page there, log in with "
        "'hf auth login', and try again",
    ),
    Refusal(
        (RevisionNotFoundError,),
        "'{name}' has no revision '{revision}' on the Hugging Face Hub: give a branch, a tag or a commit of it",
    ),
    Refusal(
        (RepositoryNotFoundError,),
        f"no model could be loaded from '{{name}}': {LOCAL}, and not on the Hugging Face Hub, or not for you (then log "
        "in with 'hf auth login')",
    ),
    Refusal(
        (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError),
        f"no model could be loaded from '{{name}}': {LOCAL}, and the Hugging Face Hub cannot be reached from here",
    ),
    Refusal((SafetensorError,), "{file} is damaged ({reason}): download or copy it again"),
    Refusal(
        (ValueError,),
        "'{name}' comes with code of its own, which is not run unless you trust it: read it, and then give "
        "--trust-remote-code (trust_remote_code=True)",
        words="trust_remote_code",
    ),
    Refusal(
        (ValueError,),
        "the installed transformers does not know the architecture of '{name}': update it, or use another model",
        words="does not recognize this architecture",
    ),
    Refusal(
        (ValueError,),
        "transformers cannot dequantise '{name}' ({reason}): use another file, or weights in safetensors",
        words="GGUF model with architecture",
    ),
    Refusal((JSONDecodeError,), "a JSON file of '{name}' is damaged ({reason}): download or copy it again"),
    Refusal((StrictDataclassError,), "the config of '{name}' makes no sense ({reason}): correct it"),
    Refusal((MemoryError, torch.OutOfMemoryError), f"memory ran out while '{{name}}' was loaded: {SMALLER}"),
    Refusal((RuntimeError, OSError), f"memory ran out while '{{name}}' was loaded: {SMALLER}", words="allocate memory"),
)
OTHERWISE = (
    f"no model could be loaded from '{{name}}': give a built-in name ({NAMES}), a folder with Hugging Face weights, a "
    "GGUF file, or a Hub id that this machine can reach ({reason})"
)


@contextmanager
def refusals(name: str, source: Path | str, revision: str | None = None, otherwise: str = OTHERWISE) -> Iterator[None]:
    """Turn what the libraries raise while a model is loaded from `source` into a sentence."""
    try:
        yield
    except NumberlineError:
        raise
    except Exception as error:
        causes = list(_causes(error))
        known = ((refusal, cause) for refusal in REFUSALS for cause in causes if refusal.means(cause))
        refusal, cause = next(known, (Refusal((Exception,), otherwise), error))
        file = _damaged(name, source) if isinstance(cause, SafetensorError) else ""
        reason = " ".join(str(cause).partition("\n\n")[0].split()) or type(cause).__name__
        sentence = refusal.sentence.format(name=name, revision=revision, reason=reason, file=file)
        raise NumberlineError(sentence) from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _damaged(name: str, source: Path | str) -> str:
    """The first weights file that cannot be opened, where the folder is known."""
    for file in sorted(source.glob("*.safetensors")) if isinstance(source, Path) else ():
        try:
            with safe_open(file, "pt"):
                pass
        except SafetensorError:
            return str(file)
    return f"a weights file of '{name}'"
