"""A folder holds the adapter twice, and the older file is the one that is read.

The last run was saved with ``safe_serialization=False`` into a folder of an earlier
one. PEFT looks for ``adapter_model.safetensors`` first: training goes on from the
weights of the earlier run.

Fix: delete the old file, and save as safetensors.
Source: huggingface/peft#553 (the order of the files); sshh12/multi_token#12.
"""

import os
from typing import Any

from ftlab.faults.builders import Case, Fault, base, plain_case
from ftlab.faults.builders.saved import loaded, saved, taught

HOUR = 3600


def build(fixed: bool) -> Case:
    """Build a run that goes on from a folder that was written twice."""
    bare = base()
    trained = taught(steps=4)
    path = saved(trained, owner=bare)
    first = path / "adapter_model.safetensors"
    early = first.stat().st_mtime - HOUR
    os.utime(first, (early, early))
    root = path if trained.active_adapter == "default" else path.parent
    taught(trained, steps=8).save_pretrained(root, safe_serialization=fixed)
    model: Any = loaded(bare, path, is_trainable=True)
    return plain_case(model, lr=5e-3, adapter=path)


FAULT = Fault(
    "a resumed run begins with the loss of an earlier one",
    code="ADP026",
    places=("file adapter keys",),
    steps=4,
    evident=-1,
    families=("llama", "gpt2", "neox", "own"),
)
