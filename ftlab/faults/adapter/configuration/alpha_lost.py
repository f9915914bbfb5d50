"""A served adapter is configured by hand, with another alpha than it was trained with.

Only the tensors were passed on; the one who loads them takes alpha = r, as in an
example. The adapter acts with half of its strength.

Fix: pass the whole folder on and load it with PeftModel.from_pretrained.
Source: huggingface/diffusers#6087, ohdearquant/lattice#261.
"""

from safetensors.torch import load_file

from ftlab.faults.builders import Case, Fault, batches, current, lora
from ftlab.faults.builders.saved import saved, taught
from ftlab.probes.facts import read_facts
from ftlab.probes.subject import Subject


def build(fixed: bool) -> Case:
    """Load tensors into an adapter that was configured by hand."""
    from peft import set_peft_model_state_dict

    rank = current().rank
    trained = taught(lora(lora_alpha=2 * rank))
    facts = read_facts(Subject(trained), 0)
    model = lora(lora_alpha=2 * rank if fixed else rank)
    path = saved(trained, model)
    tensors = load_file(path / "adapter_model.safetensors")
    set_peft_model_state_dict(model, tensors, current().adapter)
    return Case(model, batches=batches(), trained_as=facts)


FAULT = Fault(
    "the served adapter is weaker than in training",
    code="ADP025",
    places=("config lora_alpha", "config scaling"),
    steps=1,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
