"""A checkpoint of an adapter with compiled layers is loaded to go on.

Every key of the file holds ``_orig_mod.``; load_adapter finds none of them and says
nothing that a loop would stop at. Training goes on from B = 0.

Fix: drop ``_orig_mod.`` from the keys, and compile in place.
Source: MakazhanAlpamys/Soup#335, #351, #380.
"""

import warnings

from ftlab.faults.adapter.saving.compiled_layer_checkpoint_dead import compile_blocks
from ftlab.faults.builders import Case, Fault, current, lora, plain_case
from ftlab.faults.builders.saved import saved, taught


def build(fixed: bool) -> Case:
    """Load an adapter into a fresh model, as a Trainer that resumes does."""
    trained = lora()
    compile_blocks(trained, in_place=fixed)
    model = lora()
    path = saved(taught(trained, steps=4), model)
    with warnings.catch_warnings(action="ignore"):
        model.load_adapter(path, current().adapter, is_trainable=True)
    return plain_case(model, adapter=path)


FAULT = Fault(
    "the loss of a resumed run starts where the base model's does",
    code="ADP026",
    places=("file adapter keys", "param *lora_B*"),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
