"""A run is resumed by hand: the adapter is loaded, the optimizer and schedule are new.

Adam begins with empty moments and its bias correction at step 1, and the warm-up comes
a second time: the loss jumps, and the run goes another way than it would have.

Fix: save and load the state of optimizer and scheduler with the adapter.
Source: huggingface/peft#859, ace-step/ACE-Step-1.5#742, lm-sys/FastChat#1280,
tloen/alpaca-lora#72.
"""

from ftlab.faults.builders.second_half import second_half
from ftlab.faults.fault import Case, Fault


def build(fixed: bool) -> Case:
    """Load the states of both, or of none."""
    return second_half(moments=fixed, schedule=fixed)


FAULT = Fault(
    "the loss jumps right after the resume, and the warm-up comes again",
    code="ADP027",
    places=("optimizer state", "call lr_scheduler.last_epoch"),
    steps=10,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
