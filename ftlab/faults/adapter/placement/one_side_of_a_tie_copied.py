"""modules_to_save holds the embeddings of a tied model, and the head stays behind.

PEFT copies the module. The copy is trained, the head keeps the old tensor: the rows of
new tokens are learned as inputs and never as outputs, and the tie is broken.

Fix: ``ensure_weight_tying=True``; before PEFT 0.19, give the head the copy's weight.
Source: hiyouga/LlamaFactory#6749, huggingface/peft#2864.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, llama, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA that trains the embeddings as a whole."""
    model = llama(tie_word_embeddings=True)
    model = tied(model) if fixed else lora(model, modules_to_save=["embed_tokens"])
    return plain_case(model, lr=1e-3)


def tied(model: Any) -> Any:
    """Put the LoRA on so that the head is trained with the embeddings."""
    from peft import LoraConfig

    settings: dict[str, Any] = {"modules_to_save": ["embed_tokens"]}
    if "ensure_weight_tying" in LoraConfig.__dataclass_fields__:
        return lora(model, **settings, ensure_weight_tying=True)
    model = lora(model, **settings)
    model.get_output_embeddings().weight = model.get_input_embeddings().weight
    return model


FAULT = Fault(
    "new tokens are understood and never written",
    code="ADP029",
    places=("param *lm_head.weight", "param *.modules_to_save.*"),
    evident=0,
)
