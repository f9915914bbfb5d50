"""An adapter with DoRA is merged into a base in 4 bits.

DoRA makes every row of the sum as long as its magnitude says, and that row is rounded
to 16 values per block again.

Fix: merge into the base in 16 bits.
Source: seed; huggingface/peft#2321 (merges into 4 bits).
"""

import warnings

from ftlab.faults.builders.blocks import four_bit
from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, llama, lora
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Build QDoRA that is merged when training is over."""
    bare = llama(hidden_size=128)
    model = lora(bare if fixed else four_bit(bare), use_dora=True)
    optimizer = adamw(model)

    def export() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.merge_adapter()

    step = plain_step(model, optimizer)
    return Case(model.train(), optimizer, batches(), step, afterwards=export)


FAULT = Fault(
    "dora-merged-into-4bit",
    "the adapter with DoRA is good and the merged model is not",
    code="ADP009",
    places=("module *_proj", "call merge_adapter"),
    steps=6,
    evident=5,
    needs=("bitsandbytes>=0.46",),
    builder=build,
)
