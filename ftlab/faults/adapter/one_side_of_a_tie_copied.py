"""modules_to_save holds the embeddings of a tied model, and the head stays behind.

PEFT copies the module. The copy is trained, the head keeps the old tensor: the rows of
new tokens are learned as inputs and never as outputs, and the tie is broken.

Fix: ``ensure_weight_tying=True``.
Source: hiyouga/LlamaFactory#6749, huggingface/peft#2864.
"""

import warnings

from ftlab.faults.fault import Case, Fault
from ftlab.faults.loops import plain_step
from ftlab.faults.tiny import adamw, batches, llama, lora


def build(fixed: bool) -> Case:
    """Build a LoRA that trains the embeddings as a whole."""
    model, words = llama(tie_word_embeddings=True), "embed_tokens"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = lora(model, modules_to_save=[words], ensure_weight_tying=fixed)
    optimizer = adamw(model, lr=1e-3)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


FAULT = Fault(
    "one-side-of-a-tie-copied",
    "new tokens are understood and never written",
    code="ADP029",
    places=("param *lm_head.weight", "param *.modules_to_save.*"),
    builder=build,
    steps=6,
    evident=0,
)
