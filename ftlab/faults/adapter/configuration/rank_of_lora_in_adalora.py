"""``AdaLoraConfig(r=64)``: AdaLoRA has a rank of its own, and takes no notice of it.

The class inherits the field from LoRA. What is made is ``init_r`` (12 by default), cut
down to ``target_r``; a warning is all that tells.

Fix: ``init_r=...`` and ``target_r=...`` in place of ``r``.
Source: huggingface/peft#1971, #1981 (a warning in place of nothing).
"""

from typing import Any

from ftlab.faults.builders import Case, Fault, adamw, batches
from ftlab.faults.builders.methods import ranked

STEPS = 24


def build(fixed: bool) -> Case:
    """Build AdaLoRA with its own rank, or with LoRA's as well."""
    settings: dict[str, Any] = {} if fixed else {"r": 64}
    model = ranked(STEPS, **settings)
    optimizer = adamw(model)
    update = model.base_model.update_and_allocate
    done = iter(range(STEPS))

    def step(batch: Any) -> float:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        update(next(done))
        optimizer.zero_grad()
        return float(loss.detach())

    return Case(model, optimizer, batches(), step)


FAULT = Fault(
    "a higher rank of AdaLoRA changes nothing",
    code="ADP040",
    places=("config r",),
    steps=STEPS,
    evident=-1,
    families=("llama", "neox", "own"),
)
