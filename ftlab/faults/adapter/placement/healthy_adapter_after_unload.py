"""A second adapter on a base from which the first one was taken off."""

from ftlab.faults.builders import Case, Healthy, attention, base, lora, plain_case


def build() -> Case:
    """Put an adapter on, take it off, and put on another one."""
    model = base()
    first = lora(model, target_modules=attention(model)[:1])
    model = lora(first.unload(), seed=2)

    return plain_case(model)


HEALTHY = Healthy(
    "a base that was wrapped before is wrapped again",
    looks_like=("ADP014",),
)
