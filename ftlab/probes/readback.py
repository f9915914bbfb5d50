"""Brings values from the device to the host without waiting for the device.

On CUDA all values of a step are gathered into one buffer, which is copied to pinned
memory while training goes on; an event tells when it has arrived. Several copies may be
under way. On the CPU the values are there already.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray


class Delivery:
    """Float32 values on their way to the host.

    Parameters
    ----------
    values
        One-dimensional float32 tensors, on any devices; not changed afterwards.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.readback import Delivery
    >>> delivery = Delivery([torch.tensor([1.0]), torch.tensor([2.0, 3.0])])
    >>> delivery.arrived()
    True
    >>> [array.tolist() for array in delivery.arrays()]
    [[1.0], [2.0, 3.0]]
    """

    def __init__(self, values: Sequence[torch.Tensor]) -> None:
        self._sizes = [each.numel() for each in values]
        self._order: list[tuple[str, int]] = []
        self._hosts: dict[str, torch.Tensor] = {}
        self._events: list[torch.cuda.Event] = []
        places: dict[torch.device, list[torch.Tensor]] = {}
        for each in values:
            held = places.setdefault(each.device, [])
            self._order.append((str(each.device), len(held)))
            held.append(each)
        self._parts = {str(place): held for place, held in places.items()}
        for device, held in places.items():
            self._send(device, held)

    def arrived(self) -> bool:
        """Tell whether all values are on the host, without waiting."""
        return all(event.query() for event in self._events)

    def arrays(self, *, wait: bool = False) -> list[NDArray[np.float32]]:
        """Return the values as they were passed in; call it when they arrived."""
        if wait:
            for event in self._events:
                event.synchronize()
        parts: dict[str, list[NDArray[np.float32]]] = {}
        for place, held in self._parts.items():
            if place in self._hosts:
                ends = np.cumsum([each.numel() for each in held])[:-1]
                parts[place] = np.split(self._hosts[place].numpy(), ends)
            else:
                parts[place] = [each.numpy() for each in held]
        return [parts[place][index] for place, index in self._order]

    def _send(self, device: torch.device, held: list[torch.Tensor]) -> None:
        if device.type == "cpu":
            return
        with torch.no_grad():
            buffer = torch.cat(held)
        if device.type != "cuda":  # no events: the copy itself waits
            self._hosts[str(device)] = buffer.cpu()
            return
        host = torch.empty(
            buffer.shape, dtype=buffer.dtype, device="cpu", pin_memory=True
        )
        host.copy_(buffer, non_blocking=True)
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(device))
        self._hosts[str(device)] = host
        self._events.append(event)
