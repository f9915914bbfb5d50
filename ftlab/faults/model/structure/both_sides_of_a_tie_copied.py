"""modules_to_save holds the embedding and the head of a tied model.

PEFT copies each of them. Two tensors are trained, and what ties them again by the
configuration, after the merge, keeps one.

Fix: ``ensure_weight_tying=True``, or untie the model before.
Source: huggingface/peft#2777, #2972; unslothai/unsloth#9331.
"""

from ftlab.faults.builders import Case, Fault, llama, lora, plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA that trains both as a whole."""
    model = llama(tie_word_embeddings=not fixed)
    model = lora(model, modules_to_save=["embed_tokens", "lm_head"])
    return plain_case(model, lr=1e-3)


FAULT = Fault(
    "the merged model has lost one of its two trained tables",
    code="MOD015",
    places=("param *.modules_to_save.*", "config ensure_weight_tying"),
    steps=4,
    evident=-1,
)
