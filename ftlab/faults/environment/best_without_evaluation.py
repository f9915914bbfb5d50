"""The best checkpoint shall be loaded, and the first evaluation is beyond the end.

``eval_delay`` is larger than the run is long. Checkpoints are written, none is ever
evaluated, and the last one comes out as if it had been chosen.

Fix: an ``eval_delay`` that leaves room for evaluations.
Source: huggingface/transformers#28500 (the best model was silently not loaded).
"""

from dataclasses import replace

from ftlab.faults.builders import Case, Fault, best_kept, current, lora, varied


def build(fixed: bool) -> Case:
    """Build a Trainer that shall load its best checkpoint."""
    delay = 2 if fixed else 50
    # The best adapter of another name is not found at all: that is ADP035's fault.
    with varied(replace(current(), adapter="default")):
        return best_kept(lora(), every=2, max_steps=8, eval_delay=delay)


FAULT = Fault(
    "load_best_model_at_end keeps the last model, however bad it is",
    code="ENV003",
    places=("config eval_delay",),
    steps=8,
    evident=-1,
)
