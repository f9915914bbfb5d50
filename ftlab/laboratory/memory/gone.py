"""What stands in a model that was released, and is refused wherever it is passed."""

from functools import partial
from typing import Any, NoReturn

import torch

from ftlab.records.errors import ReleasedError


def gone(kind: str, *_args: Any, **_kwargs: Any) -> NoReturn:
    """Stand in for the forward of a module that was released."""
    msg = (
        f"this {kind} was released by ftlab.release, and has no weights any more; "
        "build or load it again."
    )
    raise ReleasedError(msg)


def refuse_released(model: torch.nn.Module) -> None:
    """Raise a ReleasedError where a model, or a part of it, was released."""
    for module in model.modules():
        forward = vars(module).get("forward")
        if isinstance(forward, partial) and forward.func is gone:
            forward()
