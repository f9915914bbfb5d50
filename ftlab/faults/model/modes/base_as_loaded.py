"""A model is trained as ``from_pretrained`` returns it: in evaluation mode.

``get_peft_model`` puts layers in training mode around a base that is not. The adapter
has its dropout, the base model has none of those that its configuration asks for, and
a look at ``model.training`` says True.

Fix: ``model.train()`` before the loop; a Trainer calls it.
Source: shubhamagarwal92/mmd#14, callummcdougall/ARENA_3.0#179; documentation of
transformers, ``PreTrainedModel.from_pretrained``.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, current, gpt2, llama, lora, neox
from ftlab.faults.builders.loops import plain_case

CHANCE = 0.2


def build(fixed: bool) -> Case:
    """Put LoRA with a dropout on a base in evaluation mode."""
    model = lora(_base().eval(), lora_dropout=CHANCE)
    if fixed:
        model.train()
    return plain_case(model)


def _base() -> Any:
    if current().family == "gpt2":
        return gpt2(attn_pdrop=CHANCE)
    if current().family == "neox":
        return neox(attention_dropout=CHANCE)
    return llama(attention_dropout=CHANCE)


FAULT = Fault(
    "the base model has no dropout although its configuration asks for it",
    code="MOD006",
    places=("module base_model.model", "call model.train"),
    evident=1,
    families=("llama", "gpt2", "neox"),
)
