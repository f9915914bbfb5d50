"""Full precision: a step without autocast, whatever its code asks for."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.records.handle import rebind
from ftlab.replay.torch_private import switch_autocast


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """Keep every autocast off within a ``with`` block.

    Weights and inputs that are in half precision stay so.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.responses.precision import full_precision
    >>> layer = torch.nn.Linear(2, 2)
    >>> with full_precision(), torch.autocast("cpu", dtype=torch.bfloat16):
    ...     layer(torch.ones(1, 2)).dtype
    torch.float32
    """
    autocast = torch.amp.autocast_mode.autocast
    enter: Any = autocast.__enter__

    def disabled(context: Any) -> Any:
        asked = switch_autocast(context, on=False)
        try:
            return enter(context)
        finally:
            switch_autocast(context, on=asked)

    with contextlib.ExitStack() as stack:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        stack.callback(rebind(autocast, "__enter__", disabled).remove)
        yield
