"""A plateau waits for larger values, and is stepped with a loss that is turned round.

The log-likelihood of held-out tokens is better when larger, as mode "max" says.
"""

from ftlab.faults.builders.pairs import judged_by_loss
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Judge by the negative loss."""
    return judged_by_loss(mode="max", sign=-1.0)


HEALTHY = Healthy(
    'a plateau with mode "max" beside a loss',
    looks_like=("OPT017",),
)
