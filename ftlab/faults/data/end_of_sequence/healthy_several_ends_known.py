"""Answers end with another token than EOS, and generation knows both."""

from typing import Any

from ftlab.faults.builders.chats import tokenizer, trained_on, whole
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Add the end of a turn to the generation config, as Llama 3 has it."""
    made = tokenizer(eos_token="</s>")
    case = trained_on(made, whole(made))
    ends = made.convert_tokens_to_ids(["</s>", "</turn>"])
    config: Any = case.model.generation_config
    config.eos_token_id = ends
    return case


HEALTHY = Healthy(
    "answers end with another token than EOS, at which generation stops as well",
    looks_like=("DAT020", "DAT018"),
    steps=6,
)
