"""One adapter per task, in one process: each is saved, then the next one begins."""

from ftlab.faults.adapter.initialisation.adapter_reset_each_epoch import reset
from ftlab.faults.builders import Case, Healthy, adamw, batches, folder, loop_with, lora

TASK = 20


def build() -> Case:
    """Build a loop over tasks."""
    model = lora()
    optimizer = adamw(model, lr=5e-3)
    path = folder(model)

    def before(done: int) -> None:
        if done and done % TASK == 0:
            model.save_pretrained(path / f"task {done // TASK}")
            reset(model)
            optimizer.state.clear()

    return loop_with(model, optimizer, batches(), before=before)


HEALTHY = Healthy(
    "the adapter is back at 0 every 20 steps",
    looks_like=("ADP037", "ADP001"),
    steps=80,
)
