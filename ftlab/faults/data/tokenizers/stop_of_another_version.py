"""The folder's ``generation_config.json`` stops at a token that is not trained as end.

The tokenizer was given the EOS of a newer version of the model, the generation config
was not: an engine that serves this folder runs on behind each answer.

Fix: ``model.generation_config.eos_token_id = [old, new]``, and save it.

Source: meta-llama/llama-cookbook#640, vllm-project/vllm#4180.
"""

from pathlib import Path

from ftlab.faults.builders.chats import sized, tokenizer
from ftlab.faults.builders.tokenizer_folders import change, loaded, looped
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Let generations stop at the old EOS alone."""
    made = tokenizer()
    old = made.convert_tokens_to_ids("</s>")
    stops = [old, made.eos_token_id] if fixed else [old]

    def edit(folder: Path) -> None:
        change(folder / "generation_config.json", eos_token_id=stops)

    tokens = loaded(made, edit)
    model = sized(tokens)
    model.generation_config.eos_token_id = stops
    return looped(tokens, model)


FAULT = Fault(
    "a served model runs on behind its answers",
    code="DAT073",
    places=("file config.json", "file generation_config.json"),
    steps=2,
    also=("DAT018",),
)
