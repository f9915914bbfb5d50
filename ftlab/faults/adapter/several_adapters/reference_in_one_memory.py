"""The reference adapter is filled with the tensors of the policy, not with copies.

``low_cpu_mem_usage=True`` lets PEFT keep the tensors that it is given. The reference
is frozen, has a name of its own, and moves with every update of the policy.

Fix: clone the tensors, or leave ``low_cpu_mem_usage`` out.
Source: seed; huggingface/trl#4723 (a second adapter as the reference), documentation of
``torch.nn.Module.load_state_dict``, ``assign``.
"""

from ftlab.faults.builders import Case, Fault, current, plain_case
from ftlab.faults.builders.saved import taught


def build(fixed: bool) -> Case:
    """Keep what was learned so far in a second adapter, and go on."""
    from peft import get_peft_model_state_dict, set_peft_model_state_dict

    name = current().adapter
    model = taught()
    model.add_adapter("reference", model.peft_config[name])
    tensors = get_peft_model_state_dict(model, adapter_name=name)
    set_peft_model_state_dict(
        model, tensors, adapter_name="reference", low_cpu_mem_usage=not fixed
    )
    model.set_adapter(name)
    return plain_case(model)


FAULT = Fault(
    "the KL to the reference adapter stays at 0",
    code="ADP050",
    places=("param *.reference.*",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
