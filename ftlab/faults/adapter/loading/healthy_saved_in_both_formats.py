"""An adapter is kept as safetensors and, for an older program, as a pickle.

Both files hold the same values.
"""

from typing import Any

from ftlab.faults.builders import Case, Healthy, base, plain_case
from ftlab.faults.builders.saved import loaded, saved, taught


def build() -> Case:
    """Build a run that goes on from a folder with two files, and saves two again."""
    bare = base()
    trained = taught()
    path = saved(trained, owner=bare)
    root = path if trained.active_adapter == "default" else path.parent
    trained.save_pretrained(root, safe_serialization=False)
    model: Any = loaded(bare, path, is_trainable=True)

    def save() -> None:
        model.save_pretrained(root / "after")
        model.save_pretrained(root / "after", safe_serialization=False)

    return plain_case(model, lr=5e-3, adapter=path, afterwards=save)


HEALTHY = Healthy(
    "the folder has two files, and the newer one is not read",
    looks_like=("ADP026", "ADP028"),
    steps=40,
)
