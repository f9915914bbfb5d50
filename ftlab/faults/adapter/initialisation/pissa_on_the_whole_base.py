"""A PiSSA adapter's values are loaded into a plain LoRA on the untouched base.

PiSSA takes the principal part of each weight out of the base and into the adapter. The
file was saved as it is; on the whole base that part counts twice.

Fix: save with ``path_initial_model_for_weight_conversion``, or load it with
``PeftModel.from_pretrained``, which takes the part away again.
Source: huggingface/peft#1929, huggingface/peft#1626.
"""

from ftlab.faults.builders import Case, Fault, base, current, lora, plain_case
from ftlab.faults.builders.saved import loaded, saved, taught


def build(fixed: bool) -> Case:
    """Build a run that goes on with a trained PiSSA."""
    from peft import load_peft_weights, set_peft_model_state_dict

    bare = base()
    path = saved(taught(lora(init_lora_weights="pissa"), lr=1e-3), owner=bare)
    if fixed:
        model = loaded(bare, path, is_trainable=True)
    else:
        model = lora(bare)
        values = load_peft_weights(str(path), device="cpu")
        set_peft_model_state_dict(model, values, adapter_name=current().adapter)
    return plain_case(model, lr=1e-3, adapter=path)


FAULT = Fault(
    "a loaded PiSSA answers worse than its base",
    code="ADP024",
    places=("config init_lora_weights",),
    steps=4,
    evident=-1,
    families=("llama", "neox", "own"),
)
