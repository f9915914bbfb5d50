"""Every random generator that a training step may draw from."""

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True, slots=True)
class RngState:
    """The state of Python's, NumPy's, the CPU's and each accelerator's generator.

    Generators that a user made are not in it; see `KeptGenerators`.
    """

    python: Any
    numpy: Any
    cpu: torch.Tensor
    devices: tuple[torch.Tensor, ...]

    @classmethod
    def take(cls) -> "RngState":
        """Read all states; nothing is drawn."""
        return cls(
            python=random.getstate(),
            numpy=np.random.get_state(),  # noqa: NPY002  NumPy's global state
            cpu=torch.get_rng_state(),
            devices=_device_states(),
        )

    def restore(self) -> None:
        """Put all generators back where they were."""
        random.setstate(self.python)
        np.random.set_state(self.numpy)  # noqa: NPY002  NumPy's global state
        torch.set_rng_state(self.cpu)
        module = _device_module()
        for index, state in enumerate(self.devices):
            module.set_rng_state(state, index)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RngState):
            return NotImplemented
        return (
            self.python == other.python
            and str(self.numpy[:1] + self.numpy[2:])
            == str(other.numpy[:1] + other.numpy[2:])
            and bool((self.numpy[1] == other.numpy[1]).all())
            and torch.equal(self.cpu, other.cpu)
            and len(self.devices) == len(other.devices)
            and all(map(torch.equal, self.devices, other.devices))
        )

    __hash__ = None  # type: ignore[assignment]  # mutable parts


def _device_module() -> Any:
    device = torch.accelerator.current_accelerator()
    return None if device is None else torch.get_device_module(device)


def _device_states() -> tuple[torch.Tensor, ...]:
    if not torch.accelerator.is_available():
        return ()
    module = _device_module()
    ready = getattr(module, "is_initialized", None)
    if ready is not None and not ready():
        return ()
    return tuple(module.get_rng_state(i) for i in range(module.device_count()))
