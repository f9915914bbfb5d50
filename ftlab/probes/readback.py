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
        self._values = values
        self._places: dict[torch.device, list[int]] = {}
        self._hosts: dict[torch.device, torch.Tensor] = {}
        self._events: list[torch.cuda.Event] = []
        for index, each in enumerate(values):
            if not each.is_cpu:
                self._places.setdefault(each.device, []).append(index)
        for device, indices in self._places.items():
            self._send(device, [values[index] for index in indices])

    def arrived(self) -> bool:
        """Tell whether all values are on the host, without waiting."""
        return all(event.query() for event in self._events)

    def arrays(self, *, wait: bool = False) -> list[NDArray[np.float32]]:
        """Return the values as they were passed in; call it when they arrived."""
        if wait:
            for event in self._events:
                event.synchronize()
        arrays = [each.numpy() if each.is_cpu else None for each in self._values]
        for device, indices in self._places.items():
            sizes = [self._values[index].numel() for index in indices]
            parts = np.split(self._hosts[device].numpy(), np.cumsum(sizes)[:-1])
            for index, part in zip(indices, parts, strict=True):
                arrays[index] = part
        return [each for each in arrays if each is not None]

    def _send(self, device: torch.device, held: list[torch.Tensor]) -> None:
        with torch.no_grad():
            buffer = torch.cat(held)
        if device.type != "cuda":  # no events: the copy itself waits
            self._hosts[device] = buffer.cpu()
            return
        host = torch.empty(
            buffer.shape, dtype=buffer.dtype, device="cpu", pin_memory=True
        )
        host.copy_(buffer, non_blocking=True)
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(device))
        self._hosts[device] = host
        self._events.append(event)
