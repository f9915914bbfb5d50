"""A run is resumed by hand with the optimizer's state, and without the scheduler's.

Loading puts the old learning rate into the optimizer. The schedule still stands at its
beginning: its first step takes the rate back to the warm-up.

Fix: save and load ``scheduler.state_dict()`` with the optimizer's.
Source: nerfstudio-project/nerfstudio#2203 (the checkpoint had no scheduler),
lightly-ai/lightly-train#301 (last_epoch is -1 after a resume).
"""

from ftlab.faults.builders.second_half import second_half
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Load the optimizer's state, and the scheduler's or not."""
    return second_half(moments=True, schedule=fixed)


FAULT = Fault(
    "after a resume the learning rate drops and the warm-up comes again",
    code="ADP027",
    places=("call lr_scheduler.last_epoch",),
    steps=10,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
