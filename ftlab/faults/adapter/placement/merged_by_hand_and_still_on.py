"""Each evaluation adds the adapter to the base by hand, and nobody takes it out again.

The adapter is still on: training goes on from W + 2 D, and after the next evaluation
from W + 3 D.

Fix: take out what was added, or evaluate without a merge: the adapter acts by itself.
Source: radixark/miles#1091, jingyaogong/minimind#598.
"""

from ftlab.faults.builders.hand_merges import merged_for_evaluation
from ftlab.faults.fault import Case, Fault

EVERY = 10


def build(fixed: bool) -> Case:
    """Build a LoRA run with a merged evaluation every so often."""
    return merged_for_evaluation(EVERY, 1e-3, taken_out=fixed)


FAULT = Fault(
    "the loss jumps at each evaluation",
    code="ADP023",
    places=("param *base_layer.weight",),
    steps=16,
    evident=EVERY,
    also=("ADP007",),
    families=("llama", "gpt2", "neox", "own"),
)
