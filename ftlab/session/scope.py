"""`ftlab.scope`: threads and tasks have what their starter has."""

import contextlib
import contextvars
import threading
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ftlab.probes.contexts.thread_state import State, taken_over, thread_state
from ftlab.probes.taps.starts import StartKind, tap_starts
from ftlab.records.errors import BadValueError
from ftlab.records.handle import HandleStack

_values: contextvars.ContextVar[Mapping[str, Any] | None]
_values = contextvars.ContextVar("ftlab_scope", default=None)
"""What the scopes around have by name; none outside of them."""


class Scope:
    """Carry settings of torch and context variables into what is started within.

    Threads, calls of thread pools (``run_in_executor`` too), tasks of an event loop and
    loaders' workers that are started in the block have what their starter has at that
    moment: grad mode, inference mode, autocast, the default device, CUDA's current
    device and stream, and all context variables. Each task keeps its own of these from
    one await to the next, so that a block that one leaves open changes no other one.

    Parameters
    ----------
    device
        Is CUDA's current device within the block; one that is not CUDA is the device on
        which tensors are made.
    stream
        CUDA's current stream.
    autocast
        ``True`` or a dtype turns autocast on, for ``device`` or else for CUDA where
        there is one.
    **context
        Values by name, read by `Scope.get` wherever they are carried.

    Raises
    ------
    BadValueError
        ``device``, ``stream`` or ``autocast`` is nothing of the kind.

    Notes
    -----
    A worker that is not forked gets the default dtype, grad mode and ``context``, which
    must be picklable; context variables of your own cannot be sent to it.

    Examples
    --------
    >>> import threading
    >>> import torch
    >>> import ftlab
    >>> def work():
    ...     print(torch.is_autocast_enabled("cpu"), ftlab.scope.get("request"))
    >>> with ftlab.scope(device="cpu", autocast=torch.bfloat16, request="a7"):
    ...     thread = threading.Thread(target=work)
    ...     thread.start()
    ...     thread.join()
    True a7
    """

    def __init__(
        self,
        device: Any = None,
        *,
        stream: Any = None,
        autocast: Any = None,
        **context: Any,
    ) -> None:
        self._device = None if device is None else _device(device)
        if stream is not None and not isinstance(stream, torch.cuda.Stream):
            msg = (
                f"stream is a {type(stream).__name__}; pass a torch.cuda.Stream, or "
                "leave it out."
            )
            raise BadValueError(msg)
        if autocast not in (None, True, False, torch.bfloat16, torch.float16):
            msg = (
                f"autocast={autocast!r}: pass True, or a dtype such as torch.bfloat16, "
                "or leave it out."
            )
            raise BadValueError(msg)
        self._stream = stream
        self._autocast = autocast
        self._context = context
        self._stack = contextlib.ExitStack()

    @staticmethod
    def get(name: str, default: Any = None) -> Any:
        """Return the value of a name that a scope around this has."""
        return (_values.get() or {}).get(name, default)

    def __enter__(self) -> "Scope":
        with contextlib.ExitStack() as stack:
            if self._device is not None and self._device.type == "cuda":
                stack.enter_context(torch.cuda.device(self._device))
            elif self._device is not None:
                stack.enter_context(torch.device(self._device))
            if self._stream is not None:
                stack.enter_context(torch.cuda.stream(self._stream))
            if self._autocast:
                dtype = None if self._autocast is True else self._autocast
                stack.enter_context(torch.autocast(self._kind(), dtype=dtype))
            values = _values.set({**(_values.get() or {}), **self._context})
            stack.callback(_values.reset, values)
            stack.callback(_leave_taps)
            _enter_taps()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _kind(self) -> str:
        if self._device is not None:
            return self._device.type
        return "cuda" if torch.cuda.is_available() else "cpu"


class _Carried:
    """What was started, with the settings of its starter."""

    def __init__(self, kind: StartKind) -> None:
        self._state: State = thread_state()
        # the event loop carries variables into its tasks by itself
        self._context = None if kind == "task" else contextvars.copy_context()

    def call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run a part of it; what it has then is what it has again next time."""
        if self._context is None:
            return self._run(function, *args, **kwargs)
        return self._context.run(self._run, function, *args, **kwargs)

    def _run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with taken_over(self._state):
            try:
                return function(*args, **kwargs)
            finally:
                self._state = thread_state()


class _InWorker:
    """A loader's ``worker_init_fn`` that takes over what can be sent to a process."""

    def __init__(self, then: Any) -> None:
        self._then = then
        self._values = dict(_values.get() or {})
        self._dtype = torch.get_default_dtype()
        self._grad = torch.is_grad_enabled()

    def __call__(self, worker: int) -> None:
        torch.set_default_dtype(self._dtype)
        torch.set_grad_enabled(self._grad)
        _values.set(self._values)
        if self._then is not None:
            self._then(worker)


def _begin(kind: StartKind, _: str) -> _Carried | None:
    return None if _values.get() is None else _Carried(kind)


def _around_workers(
    original: Any, iterator: Any, loader: Any, *args: Any, **kwargs: Any
) -> None:
    then = loader.worker_init_fn
    if _values.get() is not None:
        loader.worker_init_fn = _InWorker(then)
    try:
        original(iterator, loader, *args, **kwargs)
    finally:
        loader.worker_init_fn = then


_lock = threading.Lock()
_handles = HandleStack()
_entered = 0


def _enter_taps() -> None:
    """Follow what starts while any scope is entered."""
    global _entered
    with _lock:
        if not _entered:
            _handles.add(tap_starts(_begin, _around_workers))
        _entered += 1


def _leave_taps() -> None:
    global _entered
    with _lock:
        _entered -= 1
        if not _entered:
            _handles.remove()


def _device(device: Any) -> torch.device:
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        msg = (
            f"device={device!r} is no device; pass a name such as 'cuda:1', or a "
            "torch.device."
        )
        raise BadValueError(msg) from error
    if found.type == "cuda" and (found.index or 0) >= torch.cuda.device_count():
        msg = (
            f"device={device!r}: this process sees {torch.cuda.device_count()} CUDA "
            "devices (CUDA_VISIBLE_DEVICES); pass one of these, or 'cpu'."
        )
        raise BadValueError(msg)
    return found


scope = Scope
