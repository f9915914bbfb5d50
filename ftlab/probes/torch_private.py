"""Private names of torch that the probes need, in one place.

Each has a canary in ``tests/probes/test_torch_private.py`` that fails when a new torch
drops or changes it. ruff's rule against private names is off here and in
`dynamo_private` alone: they exist to hold them.
"""

import contextlib
import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

# ruff: noqa: SLF001
import torch
import torch.utils.checkpoint
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.data import _DatasetKind
from torch.utils.data._utils import worker
from torch.utils.hooks import RemovableHandle

from ftlab.records.handle import Handle

_NOTHING = contextlib.nullcontext()

set_grad_enabled: Callable[[bool], None] = torch._C._set_grad_enabled
"""What ``torch.no_grad`` calls; entering and leaving that takes eight times as long."""

scripting: Any = torch.jit._recursive
"""Where ``torch.jit.script`` finds ``create_script_module``."""


def foreach_l2(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Give each tensor's L2 norm, accumulated in float32, or float64 where one is."""
    wide = any(tensor.dtype is torch.float64 for tensor in tensors)
    dtype = torch.float64 if wide else torch.float32  # torch refuses to narrow
    return torch._foreach_norm(list(tensors), 2, dtype=dtype)


def foreach_max(tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Give each tensor's largest magnitude; NaN and infinities propagate."""
    return torch._foreach_norm(list(tensors), torch.inf)


def flattened(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Put the elements of tensors of one dtype end to end; of one it may be a view."""
    return cast("torch.Tensor", torch._utils._flatten_dense_tensors(tensors))


def versions(tensors: Iterable[torch.Tensor | None]) -> list[tuple[int, int] | None]:
    """Tell each tensor's identity and its count of in-place changes.

    Two equal answers mean that nothing was written in between. Costs no
    synchronisation.
    """
    return [None if t is None else (id(t), t._version) for t in tensors]


def is_within_backward() -> bool:
    """Tell whether this thread is executing a graph right now."""
    return torch._C._current_graph_task_id() != -1


def is_traced() -> bool:
    """Tell whether operations are recorded or transformed instead of just run.

    So it is within ``torch.func`` transforms, ``FakeTensorMode``, ``make_fx`` and
    ``torch.jit.trace``: tensors have no values that could be read, or what is done to
    them becomes part of a graph.
    """
    private: Any = torch._C
    if private._functorch.peek_interpreter_stack() is not None:
        return True
    if private._get_tracing_state() is not None:
        return True
    keys, mode_of = private._TorchDispatchModeKey, private._get_dispatch_mode
    return mode_of(keys.FAKE) is not None or mode_of(keys.PROXY) is not None


def unseen_by_modes() -> contextlib.AbstractContextManager[Any]:
    """Keep what is computed within from the dispatch modes of others.

    A mode that counts operations, or that keeps them for a checkpoint, must not meet
    ours; a number that a node keeps loses the tensor around it on its way through one.
    """
    if not torch._C._len_torch_dispatch_stack() or is_traced():
        return _NOTHING
    return _disable_current_modes()


def has_values(tensor: torch.Tensor) -> bool:
    """Tell whether there are numbers behind a tensor, and not a shape only."""
    return not (tensor.is_meta or isinstance(tensor, torch._subclasses.FakeTensor))


def node_number(node: Any) -> int | None:
    """Tell which node of this thread's graphs it is, in the order of their making.

    ``None`` for what no operation has made: the end of a graph.
    """
    number = node._sequence_nr()
    return None if number >= 1 << 63 else number


def scale_of(scaler: Any) -> torch.Tensor | None:
    """Return the scale of a GradScaler on its device, ``None`` before its first use.

    ``get_scale()`` would wait for the device.
    """
    scale = getattr(scaler, "_scale", None)
    return scale if isinstance(scale, torch.Tensor) else None


def scale_left_to(optimizer: torch.optim.Optimizer) -> torch.Tensor | None:
    """Return the scale that a fused optimizer divides out by itself, in its step."""
    return getattr(optimizer, "grad_scale", None)


def overflow_seen_by(optimizer: torch.optim.Optimizer) -> torch.Tensor | None:
    """Return what tells a fused optimizer to skip its step, within its step."""
    return getattr(optimizer, "found_inf", None)


def kinds_made() -> set[type]:
    """List the classes of which there has been an optimizer: their step is marked."""
    kinds: list[Any] = [torch.optim.Optimizer]
    for kind in kinds:  # it grows
        kinds += type.__subclasses__(kind)
    return {kind for kind in kinds if getattr(kind.step, "hooked", False)}


def is_under_construction(scheduler: Any) -> bool:
    """Tell whether ``scheduler.step`` is its constructor's call; some never count."""
    uncounted = getattr(scheduler, "_step_count", 1) == 0
    return uncounted and getattr(scheduler, "_is_initial", True)


class _SameHooks:
    """Hooks that many modules share; takes them off."""

    def __init__(self) -> None:
        self._places: list[tuple[weakref.ref[torch.nn.Module], int, bool]] = []

    def put(
        self, module: torch.nn.Module, key: int, hook: Any, *, before: bool
    ) -> None:
        inner = vars(module)
        self._places.append((weakref.ref(module), key, before))
        if before:
            inner["_forward_pre_hooks"][key] = hook
            inner["_forward_pre_hooks_with_kwargs"][key] = True
        else:
            inner["_forward_hooks"][key] = hook
            inner["_forward_hooks_always_called"][key] = True

    def remove(self) -> None:
        places, self._places = self._places, []
        for reference, key, before in places:
            module = reference()
            if module is None:
                continue
            inner = vars(module)
            names = _PRE_HOOKS if before else _HOOKS
            for name in names:
                inner[name].pop(key, None)


_PRE_HOOKS = ("_forward_pre_hooks", "_forward_pre_hooks_with_kwargs")
_HOOKS = ("_forward_hooks", "_forward_hooks_always_called")


def hook_modules(
    modules: Iterable[tuple[str, torch.nn.Module]],
    *,
    before: Callable[..., None],
    first: Callable[..., None],
    last: Callable[..., None],
) -> Handle:
    """Put the same hooks on many modules; torch's registering takes 10 us for each.

    Parameters
    ----------
    modules
        By path. The model itself, ``""``, is running already: ``before`` is not put
        on it.
    before
        A pre-hook that gets the keyword arguments too.
    first
        Sees an output as no hook has touched it; put on where there are other hooks.
    last
        Sees an output as the next module does; called also where a module raised.
    """
    handles = _SameHooks()
    pre, front, end = (RemovableHandle(OrderedDict()).id for _ in range(3))
    for path, module in modules:
        if path:
            handles.put(module, pre, before, before=True)
        hooks = module._forward_hooks
        if hooks:
            handles.put(module, front, first, before=False)
            cast("Any", hooks).move_to_end(front, last=False)
        handles.put(module, end, last, before=False)
    return handles


class _RunOnce:
    """Stands in for the function that a reentrant checkpoint is."""

    @staticmethod
    def apply(function: Callable[..., Any], _preserve: bool, *args: Any) -> Any:
        return function(*args)


def _run_once(*_args: Any, **_kwargs: Any) -> Iterator[None]:
    """Stand in for what goes before and after the function of a checkpoint."""
    yield


@contextlib.contextmanager
def without_checkpoints() -> Iterator[None]:
    """Let ``torch.utils.checkpoint`` keep what it computes, and compute nothing again.

    It looks these two up whenever it is called, whoever imported it and when.
    """
    module: Any = torch.utils.checkpoint
    names = ("CheckpointFunction", "_checkpoint_without_reentrant_generator")
    before = [getattr(module, name) for name in names]
    module.CheckpointFunction = _RunOnce
    module._checkpoint_without_reentrant_generator = _run_once
    try:
        yield
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(module, name, value)


def after_fetches(call: Callable[[Any], object]) -> None:
    """Have all batches shown that this process of a DataLoader makes from here on.

    Called from a ``worker_init_fn``, and never taken back: it ends with the process.
    An error ends the showing, not the process.
    """
    kind: Any = _DatasetKind
    create = kind.create_fetcher

    def created(*args: Any) -> Any:
        fetcher = create(*args)
        fetch = fetcher.fetch

        def fetched(index: Any) -> Any:
            batch = fetch(index)
            fetcher.fetch = fetch
            with contextlib.suppress(Exception):  # nothing of ours may end a worker
                call(batch)
                fetcher.fetch = fetched
            return batch

        fetcher.fetch = fetched
        return fetcher

    kind.create_fetcher = staticmethod(created)


@contextlib.contextmanager
def as_first_worker(dataset: Any, workers: int) -> Iterator[None]:
    """Let ``get_worker_info`` answer as in a DataLoader's first worker, if it has any.

    Examples
    --------
    >>> from torch.utils.data import get_worker_info
    >>> from ftlab.probes.torch_private import as_first_worker
    >>> with as_first_worker([1, 2], workers=2):
    ...     get_worker_info().num_workers
    2
    >>> get_worker_info() is None
    True
    """
    before = worker._worker_info
    if workers:
        seed = torch.initial_seed()
        info = worker.WorkerInfo(id=0, num_workers=workers, seed=seed, dataset=dataset)
        worker._worker_info = info
    try:
        yield
    finally:
        worker._worker_info = before


@functools.cache
def _saving_names(kind: Any) -> tuple[tuple[str, str], ...]:
    """Name what a kind of node has saved: as it lies there, and unpacked."""
    raw = [name for name in dir(kind) if name.startswith("_raw_saved_")]
    plain = [name.removeprefix("_raw") for name in raw]
    return tuple(
        (name, each if hasattr(kind, each) else each.removeprefix("_"))
        for name, each in zip(raw, plain, strict=True)
    )


def saved_by(node: Any) -> list[Any]:
    """Return what a node of a graph keeps for backward; nothing is computed again.

    What hooks have put in a tensor's place (checkpointing, offloading) is returned as
    it lies there, and not unpacked.
    """
    found: list[Any] = []
    kind: Any = type(node)
    for raw, plain in _saving_names(kind):
        with contextlib.suppress(RuntimeError, AttributeError):  # freed, or written to
            saved = getattr(node, raw)
            held = saved if isinstance(saved, tuple) else (saved,)
            packed = [e.data for e in held if getattr(e, "unpack_hook", None)]
            unpacked = packed or getattr(node, plain)
            found += unpacked if isinstance(unpacked, list | tuple) else [unpacked]
    return [each for each in found if each is not None]
