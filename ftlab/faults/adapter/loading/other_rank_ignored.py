"""An adapter of another rank is loaded with ``ignore_mismatched_sizes=True``.

The error about shapes was in the way. What does not fit is left out, which is every
tensor of the adapter; it keeps what it was drawn with.

Fix: build the adapter with the rank that is in the file's adapter_config.json.
Source: huggingface/peft, ``ignore_mismatched_sizes`` of ``load_adapter``.
"""

from ftlab.faults.builders import Case, Fault, adamw, batches, current, lora
from ftlab.faults.builders.around import at, loop_with
from ftlab.faults.builders.saved import saved, taught

WHEN = 2


def build(fixed: bool) -> Case:
    """Build a loop that loads an adapter after some steps."""
    rank, name = current().rank, current().adapter
    model = lora()
    trained = taught(lora(r=rank if fixed else 2 * rank, lora_alpha=2 * rank))
    path = saved(trained, model)
    optimizer = adamw(model)

    def load() -> None:
        model.load_adapter(path, name, is_trainable=True, ignore_mismatched_sizes=True)

    return loop_with(model, optimizer, batches(), before=at(WHEN, load))


FAULT = Fault(
    "the adapter that was loaded makes no difference",
    code="ADP026",
    places=("file adapter keys",),
    evident=WHEN,
    families=("llama", "gpt2", "neox", "own"),
)
