"""IA3's ``feedforward_modules`` names no layer of this model.

The last layer of the feed-forward part is then scaled at its output: not its inner
activations are rescaled, but what it adds to the residual stream.

Fix: name the last layer of the feed-forward part in ``feedforward_modules``.
Source: huggingface/peft#972 (what the setting does).
"""

from ftlab.faults.builders import Case, Fault, base, plain_case
from ftlab.faults.builders.methods import last_feed_forward, rescaled


def build(fixed: bool) -> Case:
    """Build IA3 with the pattern of this model, or with that of another one."""
    model = base()
    (down,) = last_feed_forward(model)
    pattern = rf".*\.{down}" if fixed else r".*\.DenseReluDense\.wo"
    model = rescaled(model, feedforward_modules=pattern)
    return plain_case(model, lr=1e-2)


FAULT = Fault(
    "IA3 learns less than it did in the paper",
    code="ADP012",
    places=("config feedforward_modules",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
