"""A second adapter on a base from which the first one was taken off."""

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, attention, base, batches, lora
from ftlab.faults.fault import Case, Healthy


def build() -> Case:
    """Put an adapter on, take it off, and put on another one."""
    model = base()
    first = lora(model, target_modules=attention(model)[:1])
    model = lora(first.unload(), seed=2)

    optimizer = adamw(model)
    return Case(model, optimizer, batches(), plain_step(model, optimizer))


HEALTHY = Healthy(
    "adapter-after-unload",
    "a base that was wrapped before is wrapped again",
    looks_like=("ADP014",),
    builder=build,
)
