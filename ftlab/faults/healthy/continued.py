"""A saved adapter is loaded to be trained further, with a new optimizer.

``is_trainable=True`` says so; B is not 0 before the first step, and the first loss is
far below that of the base.
"""

from ftlab.faults.fault import Case, Healthy
from ftlab.faults.loops import plain_step
from ftlab.faults.tiny import adamw, base, batches, lora
from ftlab.faults.trainers import folder
from ftlab.faults.variation import current


def build() -> Case:
    """Build a second training of an adapter."""
    from peft import PeftModel

    model = lora()
    first = adamw(model, lr=1e-2)
    Case(model, first, batches(), plain_step(model, first)).run(40)
    path = folder(model)
    model.save_pretrained(path)
    name = current().adapter
    inner = path if name == "default" else path / name
    again = PeftModel.from_pretrained(base(), inner, name, is_trainable=True)
    optimizer = adamw(again)
    step = plain_step(again, optimizer)
    return Case(again, optimizer, batches(), step, adapter=inner)


HEALTHY = Healthy(
    "continued",
    "the adapter is not 0 at the start, its configuration came from a file",
    looks_like=("ADP001", "GRD003", "OPT001"),
    builder=build,
)
