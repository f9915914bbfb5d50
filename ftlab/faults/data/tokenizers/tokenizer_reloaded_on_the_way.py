"""The tokenizer is exchanged while the run goes on, and ids stand for other pieces.

A server in the same process, or a callback that follows a file, puts another vocabulary
into the live tokenizer. Nothing raises: every id is within the embedding.

Fix: let what reloads it work on a copy of its own.

Source: a hot reload of tokenizer.json.
"""

import json

from tokenizers import Tokenizer

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.tokenizer_folders import between, looped
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Put a vocabulary whose pieces are in another order in the place of the first."""
    made = tokenizer()
    case = looped(made)

    def reload() -> None:
        text = made.backend_tokenizer.to_str()
        other = text if fixed else _turned(text)
        made._tokenizer = Tokenizer.from_str(other)  # noqa: SLF001  what people do

    return between(case, 2, reload)


def _turned(text: str) -> str:
    """Exchange the ids of two letters."""
    told = json.loads(text)
    words = told["model"]["vocab"]
    words["a"], words["b"] = words["b"], words["a"]
    return json.dumps(told)


FAULT = Fault(
    "evaluations of the fine-tuned model are nonsense from some step on",
    code="DAT070",
    places=("object tokenizer",),
    evident=2,
)
