"""A PiSSA was saved together with its residual base, and is loaded onto that.

The adapter is made as a plain LoRA: nothing has to be taken from this base any more.
Its folder says PiSSA all the same.
"""

from ftlab.faults.builders import Case, Healthy, base, current, lora, plain_case
from ftlab.faults.builders.saved import saved, taught


def build() -> Case:
    """Build a run that goes on with a trained PiSSA on its own base."""
    from peft import load_peft_weights, set_peft_model_state_dict

    trained, bare = taught(lora(init_lora_weights="pissa"), lr=1e-3), base()
    path, name = saved(trained, owner=bare), current().adapter
    values = load_peft_weights(str(path), device="cpu")
    bare.load_state_dict(trained.unload().state_dict())
    model = lora(bare)
    set_peft_model_state_dict(model, values, adapter_name=name)
    return plain_case(model, lr=1e-3, adapter=path)


HEALTHY = Healthy(
    "the folder says PiSSA, and the model's adapter is a plain LoRA",
    looks_like=("ADP024", "ADP023", "ADP032"),
    steps=40,
)
