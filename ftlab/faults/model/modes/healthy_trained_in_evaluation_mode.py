"""The model is fine-tuned in evaluation mode from its first step on, without dropout.

Many do so on purpose, small sets and preference data above all: ``model.eval()`` is the
shortest way to switch every dropout off.
"""

from ftlab.faults.builders import Case, Healthy, opt, plain_case


def build() -> Case:
    """Build an OPT with dropout, and train it in evaluation mode."""
    model = opt(attention_dropout=0.1).eval()
    return plain_case(model)


HEALTHY = Healthy(
    "every dropout does nothing for the whole run",
    looks_like=("MOD006",),
    steps=40,
)
