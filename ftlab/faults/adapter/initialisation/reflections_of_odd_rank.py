"""HRA with an odd rank: one reflection has no partner that undoes it.

HRA multiplies each weight by ``r`` reflections. They begin in equal pairs, so that each
pair is nothing. With an odd ``r`` PEFT draws all of them, and warns once; the model
starts from reflected weights.

Fix: an even ``r``.
Source: peft's ``HRALayer.reset_hra_parameters``; Yuan et al. 2024, arXiv:2405.17484.
"""

from ftlab.faults.builders import Case, Fault, current, plain_case
from ftlab.faults.builders.methods import tuned


def build(fixed: bool) -> Case:
    """Build HRA of an even, or of an odd rank."""
    even = 2 * current().rank
    model = tuned("HRAConfig", r=even if fixed else even - 1)
    return plain_case(model)


FAULT = Fault(
    "a fresh HRA adapter spoils the pretrained model",
    code="ADP032",
    places=("config r",),
    evident=0,
    families=("llama", "neox", "own"),
)
