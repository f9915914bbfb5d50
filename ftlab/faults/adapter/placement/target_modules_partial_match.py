"""The target modules were copied from a recipe for a model with other names.

Names that match nothing are dropped without a word as long as one matches: no layer of
the feed-forward part carries an adapter.

Fix: this model's names, or ``target_modules="all-linear"``.
Source: huggingface/peft#1959, #3554, dllm-reasoning/d1#6.
"""

from ftlab.faults.builders import Case, Fault, attention, base, feed_forward, lora
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Build a LoRA model with targets of another model."""
    model = base()
    wanted = feed_forward(model) if fixed else ["ff_proj", "attn_out"]
    model = lora(model, target_modules=attention(model) + wanted)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "LoRA trains but ends at a worse loss; fewer parameters than planned",
    code="ADP012",
    places=("config target_modules",),
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
