"""What torch keeps for each thread by itself: read, put into words, taken over.

Grad mode, inference mode, autocast, the default device and CUDA's current device and
stream are the thread's own. A new thread begins without them, and the tasks of an event
loop, which share a thread, share them.
"""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

GRAD = "gradients"
INFERENCE = "inference mode"
AUTOCAST = "autocast"
DEFAULT = "default device"
DEVICE = "CUDA device"
STREAM = "CUDA stream"

_AUTOCAST_DEVICES = ("cpu", "cuda", "xpu", "mps")

State = Mapping[str, Any]


def thread_state() -> State:
    """Return what this thread has, by name; it takes 10 us.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.contexts.thread_state import thread_state
    >>> with torch.no_grad():
    ...     thread_state()["gradients"]
    False
    """
    state = {
        GRAD: torch.is_grad_enabled(),
        INFERENCE: torch.is_inference_mode_enabled(),
        AUTOCAST: tuple(
            (device, torch.get_autocast_dtype(device))
            for device in _AUTOCAST_DEVICES
            if _is_autocast_on(device)
        ),
        DEFAULT: torch.get_default_device(),
    }
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        state[DEVICE] = torch.cuda.current_device()
        state[STREAM] = torch.cuda.current_stream()
    return state


def autocast_depth() -> int:
    """Return in how many blocks of autocast this thread is; also those that end it.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.contexts.thread_state import autocast_depth
    >>> with torch.autocast("cpu", enabled=False):
    ...     autocast_depth()
    1
    """
    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())


def in_words(name: str, value: Any) -> str:
    """Say what a part of a state is, without an article.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.contexts.thread_state import in_words
    >>> in_words("gradients", False), in_words("autocast", (("cpu", torch.bfloat16),))
    ('gradients off', 'autocast to bfloat16')
    """
    if name == AUTOCAST:
        dtypes = ", ".join(str(dtype).removeprefix("torch.") for _, dtype in value)
        return f"autocast to {dtypes}" if value else "autocast off"
    if isinstance(value, bool):
        return f"{name} {'on' if value else 'off'}"
    return f"{name} {value}"


@contextlib.contextmanager
def taken_over(state: State) -> Iterator[None]:
    """Let this thread have ``state`` within the block.

    The settings are set one by one, not entered: a task that stops at an await may have
    entered others in between, which it leaves later.
    """
    before = thread_state()
    with torch.inference_mode(state[INFERENCE]):
        _take_over(state)
        try:
            yield
        finally:
            _take_over(before)


def _take_over(state: State) -> None:
    wanted = dict(state[AUTOCAST])
    for device in _AUTOCAST_DEVICES:
        if device in wanted:
            torch.set_autocast_dtype(device, wanted[device])
        if (device in wanted) != _is_autocast_on(device):
            torch.set_autocast_enabled(device, device in wanted)
    torch.clear_autocast_cache()  # its casts are of the weights as they were
    if state[DEFAULT] != torch.get_default_device():
        usual = state[DEFAULT].type == "cpu"
        torch.set_default_device(None if usual else state[DEFAULT])
    if DEVICE in state:
        torch.cuda.set_device(state[DEVICE])
        torch.cuda.set_stream(state[STREAM])
    torch.set_grad_enabled(state[GRAD])


def _is_autocast_on(device: str) -> bool:
    try:
        return torch.is_autocast_enabled(device)
    except RuntimeError:  # this build of torch has no such device
        return False
