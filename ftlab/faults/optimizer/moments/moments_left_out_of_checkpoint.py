"""A checkpoint that keeps Adam's count of steps and leaves out its moments.

The loader fills in zeros. Late in training nothing is left of the bias correction,
which would make up for them: the first updates are three to six times too large.

Fix: save the whole state, or begin with a count of 0.
Source: Guitaricet/relora#10 (moments set to 0, the count kept).
"""

import torch

from ftlab.faults.builders import Case, Fault, adamw, base, loop_case

LATE = 20_000.0
"""Steps that were made before the checkpoint was written."""


def build(fixed: bool) -> Case:
    """Go on training all weights with zeros for moments."""
    model = base()
    optimizer = adamw(model, lr=3e-4)
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            optimizer.state[parameter] = {
                "step": torch.tensor(0.0 if fixed else LATE),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
    return loop_case(model, optimizer)


FAULT = Fault(
    "the loss jumps right after a resume, at the rate that was fine before",
    code="OPT023",
    places=("optimizer state",),
    evident=2,
    families=("llama", "gpt2", "neox", "own"),
)
