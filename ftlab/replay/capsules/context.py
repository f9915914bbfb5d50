"""What of the caller's thread the training thread must have too.

Grad mode, autocast, the current device and the number of threads belong to a thread, so
they are carried over. Function and dispatch modes, a default device among them, cannot
be entered a second time without changing what they do; they are refused by name.
"""

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.records.errors import NotReplayableError
from ftlab.replay.torch_private import saved_tensor_hooks_on, thread_modes

_AUTOCAST_DEVICES = ("cpu", "cuda", "xpu", "mps")


@dataclass(frozen=True, slots=True)
class ThreadContext:
    """The settings of one thread, to be used in another.

    Attributes
    ----------
    variables
        Context variables; widgets find their kernel through them.
    grad_enabled, threads, device
        Grad mode, number of intra-op threads, current CUDA device if CUDA is in use.
    autocast
        Device type and dtype of each autocast that is on.
    autocast_cache
        Whether autocast keeps its casts of the weights.
    """

    variables: contextvars.Context
    grad_enabled: bool
    threads: int
    device: int | None
    autocast: tuple[tuple[str, torch.dtype], ...]
    autocast_cache: bool

    @classmethod
    def of_caller(cls) -> "ThreadContext":
        """Read the calling thread.

        Raises
        ------
        NotReplayableError
            When the thread has something that cannot be carried over.
        """
        _refuse_what_stays_behind()
        cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
        return cls(
            variables=contextvars.copy_context(),
            grad_enabled=torch.is_grad_enabled(),
            threads=torch.get_num_threads(),
            device=torch.cuda.current_device() if cuda else None,
            autocast=active_autocast(),
            autocast_cache=torch.is_autocast_cache_enabled(),
        )

    def run(self, function: Callable[[], Any]) -> None:
        """Call ``function`` in the current thread with these settings."""
        self.variables.run(self._run, function)

    def _run(self, function: Callable[[], Any]) -> None:
        with self._entered():
            function()

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        torch.set_num_threads(self.threads)
        with contextlib.ExitStack() as stack:
            if self.device is not None:
                stack.enter_context(torch.cuda.device(self.device))
            stack.enter_context(torch.set_grad_enabled(self.grad_enabled))
            # Not entered when off: a disabled outer autocast keeps the nesting count
            # up, inner ones never clear their cache, and training uses stale weights.
            for device, dtype in self.autocast:
                cache = self.autocast_cache
                stack.enter_context(
                    torch.autocast(device, dtype=dtype, cache_enabled=cache)
                )
            yield


def active_autocast() -> tuple[tuple[str, torch.dtype], ...]:
    """Return device type and dtype of each autocast that is on in this thread."""
    on = [device for device in _AUTOCAST_DEVICES if _autocast_on(device)]
    return tuple((device, torch.get_autocast_dtype(device)) for device in on)


def _autocast_on(device: str) -> bool:
    try:
        return torch.is_autocast_enabled(device)
    except RuntimeError:  # this build of torch has no such device
        return False


def _refuse_what_stays_behind() -> None:
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        ranks = distributed.get_world_size()
        if ranks > 1:
            msg = (
                f"{ranks} ranks train together, and one that waits or repeats a step "
                "would make the others hang. Debug with a single process; ftlab.watch "
                "works with all ranks."
            )
            raise NotReplayableError(msg)
    found = [type(mode).__name__ for mode in thread_modes()]
    if saved_tensor_hooks_on():
        found.append("saved_tensors_hooks")
    if torch.is_inference_mode_enabled():
        found.append("inference_mode")
    if not found:
        return
    names = ["torch.set_default_device" if n == "DeviceContext" else n for n in found]
    msg = (
        f"The training runs in its own thread, which does not see {names[0]} of this "
        f"thread (active here: {', '.join(names)}). Leave it before run(), or enter it "
        "inside the training code."
    )
    raise NotReplayableError(msg)
