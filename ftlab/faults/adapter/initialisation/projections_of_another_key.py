"""VeRA is saved without its projections, and loaded onto those of another key.

``save_projection=False`` keeps the file small: the matrices are drawn again from
``projection_prng_key``. The script that loads it has a key of its own, each tensor of
the file fits, and the trained vectors scale other directions.

Fix: ``PeftModel.from_pretrained(base, folder)``, which takes the key of the file.
Source: read in peft 0.21.2 (``VeraConfig.save_projection``) and reproduced.
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, base, current, plain_case
from ftlab.faults.builders.methods import tuned
from ftlab.faults.builders.saved import saved, taught

SETTINGS: dict[str, Any] = {"save_projection": False, "r": 16}


def build(fixed: bool) -> Case:
    """Build a run that goes on with the values of a folder."""
    from peft import load_peft_weights, set_peft_model_state_dict

    trained = taught(tuned("VeraConfig", projection_prng_key=7, **SETTINGS))
    bare = base()
    path, key = saved(trained, owner=bare), 7 if fixed else 0
    model = tuned("VeraConfig", bare, projection_prng_key=key, **SETTINGS)
    values = load_peft_weights(str(path), device="cpu")
    set_peft_model_state_dict(model, values, adapter_name=current().adapter)
    return plain_case(model, lr=5e-3, adapter=path)


FAULT = Fault(
    "a loaded VeRA has forgotten what it knew, though all keys are found",
    code="ADP024",
    places=("config projection_prng_key",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
