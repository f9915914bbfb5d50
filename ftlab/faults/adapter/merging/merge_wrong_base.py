"""An adapter is loaded on another checkpoint of the same shapes.

Version 0.2 in place of 0.1, the chat model in place of the base: names and shapes fit,
nothing is checked, and quality is poor.

Fix: load the base that ``adapter_config.json`` names.
Source: huggingface/peft#1388, huggingface/peft#2502.
"""

from ftlab.faults.builders import Case, Fault, base, batches, lora
from ftlab.faults.builders.saved import loaded, saved, taught
from ftlab.probes.facts import read_facts
from ftlab.probes.subject import Subject


def build(fixed: bool) -> Case:
    """Load an adapter to use it; the facts of its training are at hand."""
    trained = lora()
    facts = read_facts(Subject(trained), 0)
    model = base(seed=0 if fixed else 7)
    path = saved(taught(trained, steps=20), model)
    return Case(loaded(model, path), batches=batches(), trained_as=facts)


FAULT = Fault(
    "an adapter that was good gives poor answers",
    code="ADP024",
    places=("param *base_layer.weight", "config base_model_name_or_path"),
    steps=1,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
