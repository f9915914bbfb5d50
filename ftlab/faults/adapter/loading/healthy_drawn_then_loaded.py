"""``init_weights=False`` to save time, since trained values are loaded right after.

The configuration asks for a random start; what the adapter holds is not random.
"""

from ftlab.faults.builders import Case, Healthy, adamw, batches, plain_case, plain_step
from ftlab.faults.builders.methods import tuned


def build() -> Case:
    """Train VeRA, and load its values into one that was drawn."""
    from peft import get_peft_model_state_dict, set_peft_model_state_dict

    taught = tuned("VeraConfig", r=64)
    step = plain_step(taught, adamw(taught, lr=1e-2))
    for batch in batches(seed=1):
        step(batch)
    model = tuned("VeraConfig", r=64, init_weights=False)
    adapter = model.active_adapter
    values = get_peft_model_state_dict(taught, adapter_name=adapter)
    set_peft_model_state_dict(model, values, adapter_name=adapter)
    return plain_case(model)


HEALTHY = Healthy(
    "init_weights=False, and a VeRA adapter far from nothing: it was loaded",
    looks_like=("ADP026", "ADP032"),
    steps=20,
)
