"""Three adapters are trained one after the other, each by an optimizer of its own."""

from typing import Any

from ftlab.faults.builders import Case, Healthy, adamw, batches, lora, lora_config

STEPS = 40


def build() -> Case:
    """Switch to the next adapter every forty steps, and make its optimizer."""
    model = lora()
    names = [model.active_adapter, "second", "third", "fourth"]
    for name in names[1:]:
        model.add_adapter(name, lora_config(model))
    model.set_adapter(names[0])
    optimizers = [adamw(model)]
    steps = 0

    def step(batch: Any) -> float:
        nonlocal steps
        if steps and steps % STEPS == 0:
            model.set_adapter(names[steps // STEPS % len(names)])
            optimizers.append(adamw(model))
        steps += 1
        optimizers[-1].zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizers[-1].step()
        return float(loss.detach())

    return Case(model, optimizers[0], batches(), step)


HEALTHY = Healthy(
    "four optimizers are made within the loop, each for weights of its own",
    looks_like=("OPT023", "OPT001", "OPT002"),
    steps=160,
)
