"""What stands in for the forward of a model that was released."""

from functools import partial
from typing import Any, NoReturn

import torch

from ftlab.records.errors import ReleasedError


def gone(kind: str, *_args: Any, **_kwargs: Any) -> NoReturn:
    """Say that a model of class ``kind`` has no weights any more."""
    msg = (
        f"this {kind} was released by ftlab.release, and has no weights any more; "
        "build or load it again."
    )
    raise ReleasedError(msg)


def refuse_released(model: torch.nn.Module) -> None:
    """Raise a ReleasedError where a model, or a part of it, was released."""
    for forward in (vars(module).get("forward") for module in model.modules()):
        if isinstance(forward, partial) and forward.func is gone:
            forward()
