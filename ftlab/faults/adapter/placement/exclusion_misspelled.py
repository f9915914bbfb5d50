"""A name in ``exclude_modules`` is misspelled, and excludes nothing.

PEFT warns when nothing at all was excluded. Beside a name that is right the other one
passes in silence, and the layers that were to be left alone are trained.

Fix: the name as ``named_modules()`` has it.
Source: seed; ``BaseTuner.inject_adapter`` of peft.
"""

from ftlab.faults.builders import Case, Fault, attention, base, feed_forward, lora
from ftlab.faults.builders.loops import plain_case


def build(fixed: bool) -> Case:
    """Leave two kinds of layers out of all."""
    model = base()
    right, other = attention(model)[0], feed_forward(model)[-1]
    wrong = other[:-2] + other[-1] + other[-2]
    wanted = [right, other if fixed else wrong]
    model = lora(model, target_modules="all-linear", exclude_modules=wanted)
    return plain_case(model)


FAULT = Fault(
    "layers that were excluded by name carry adapters",
    code="ADP012",
    places=("config exclude_modules",),
    evident=-1,
    families=("llama", "gpt2", "neox"),
)
