"""What the tests of preflight hand over, and how they look at its answer."""

from typing import Any

import torch

from ftlab.records.checklist import CheckItem
from ftlab.session.preflight.preflight import preflight
from tests.models import batches, tiny_lora


def lora_loop(**settings: Any) -> dict[str, Any]:
    """Return a healthy loop's objects, by argument of preflight; tiny and seeded."""
    model = tiny_lora(**settings)
    trained = [p for p in model.parameters() if p.requires_grad]
    return {
        "model": model,
        "optimizer": torch.optim.AdamW(trained, lr=1e-3),
        "batches": list(batches(2)),
    }


def item_of(name: str, **given: Any) -> CheckItem:
    """Run preflight and return the one item of this name."""
    found = [item for item in preflight(**given) if item.name == name]
    assert len(found) == 1, f"{len(found)} items are called {name!r}"
    return found[0]
