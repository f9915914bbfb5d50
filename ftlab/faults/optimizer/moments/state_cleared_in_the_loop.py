"""The optimizer's state is cleared to save memory, again and again.

Meant for after the run, or for one evaluation; in the loop it throws the moments away.

Fix: leave ``optimizer.state`` alone, or use an optimizer with small moments.
Source: measured.
"""

from ftlab.faults.builders import Case, Fault, adamw, base, batches, every, loop_with


def build(fixed: bool) -> Case:
    """Train all weights, and clear the state every third step or never."""
    model = base()
    optimizer = adamw(model, lr=3e-4)

    def clear() -> None:
        if not fixed:
            optimizer.state.clear()

    return loop_with(model, optimizer, batches(), after=every(3, clear))


FAULT = Fault(
    "the moments are cleared every few steps",
    code="OPT023",
    places=("optimizer state",),
    steps=12,
    evident=9,
    families=("llama", "gpt2", "neox", "own"),
)
