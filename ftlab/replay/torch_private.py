"""Every private name of torch that replaying needs; each has a canary test.

ruff's rule against private names is off in this file alone: it exists to hold them.
Public ways do not exist for these: which autograd node is running, which sequence
number a node has, and which modes of the calling thread another thread would not see.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

# ruff: noqa: SLF001
import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException as DataDependentOutputException,
    DynamicOutputShapeException as DynamicOutputShapeException,
    FakeTensor as FakeTensor,
    FakeTensorMode as FakeTensorMode,
)
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import (
    TorchDispatchMode as TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode_stack,
)


def flattened(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Copy several tensors of one dtype and device, end to end."""
    return torch._utils._flatten_dense_tensors(tensors)


def parted(flat: torch.Tensor, shapes: Sequence[torch.Size]) -> list[torch.Tensor]:
    """Take apart what `flattened` has put together."""
    parts = flat.split([shape.numel() for shape in shapes])
    return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]


def version(tensor: torch.Tensor) -> int:
    """Count the in-place changes of ``tensor``; 0 where torch does not count them."""
    return 0 if tensor.is_inference() else tensor._version


def versions(tensors: Sequence[torch.Tensor]) -> list[int]:
    """Return the `version` of each of many."""
    try:
        return [each._version for each in tensors]
    except RuntimeError:
        return list(map(version, tensors))


def current_node() -> Any:
    """Return the autograd node that the engine is running, or ``None``."""
    return torch._C._current_autograd_node()


def node_sequence(node: Any) -> int:
    """Return the number of the forward op that made ``node``; -1 when it has none."""
    number: int = node._sequence_nr()
    return number if number < 2**62 else -1


def last_sequence() -> int:
    """Return the number of the autograd node that this thread made last."""
    return torch._C._autograd._get_sequence_nr() - 1


def graph_task() -> int:
    """Return the id of the backward pass under way in this thread, -1 when none."""
    return torch._C._current_graph_task_id()


def thread_modes() -> Sequence[Any]:
    """Return the function and dispatch modes that only the calling thread sees."""
    return (*_get_current_function_mode_stack(), *_get_current_dispatch_mode_stack())


def backward_within_modes(
    loss: torch.Tensor, more: Sequence[tuple[Any, torch.Tensor]] = ()
) -> None:
    """Run backward as ``loss.backward()`` does, which leaves the function modes.

    ``more`` are other edges of the graph to begin at, each with its gradient.
    """
    own = [(loss, torch.ones_like(loss))] if loss.requires_grad else []
    edges, gradients = zip(*own, *more, strict=True)
    torch.autograd.graph._engine_run_backward(
        edges,
        gradients,
        False,
        False,
        (),
        allow_unreachable=True,
        accumulate_grad=True,
    )


def zeros_to(made: torch.Tensor) -> tuple[Any, torch.Tensor]:
    """Return the graph's edge to what made a tensor, and zeros as its gradient."""
    node: Any = made.grad_fn
    with outside_modes():
        zeros = made.new_zeros(()).expand_as(made)
    return torch.autograd.graph.GradientEdge(node, made.output_nr), zeros


def outside_functions() -> Any:
    """Return a context whose calls no function mode of this thread sees."""
    return torch._C.DisableTorchFunction()


@contextlib.contextmanager
def outside_modes() -> Iterator[None]:
    """Compute what no function mode or dispatch mode of this thread sees."""
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        yield


def saved_tensor_hooks_on() -> bool:
    """Say whether hooks on saved tensors are active in the calling thread."""
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


def bytes_of(tensor: torch.Tensor) -> int:
    """Return the bytes of a tensor; torch does not tell those of a sparse one."""
    if tensor.layout == torch.sparse_coo:
        return tensor._indices().nbytes + tensor._values().nbytes
    return tensor.nbytes


def sparse_values(tensor: torch.Tensor) -> torch.Tensor:
    """Return the stored values of a sparse COO tensor, coalesced or not."""
    return tensor._values()


def call_first(handle: Any) -> None:
    """Let the hook of ``handle`` run before the others that are registered."""
    handle.hooks_dict_ref().move_to_end(handle.id, last=False)


def bare_step(optimizer: torch.optim.Optimizer) -> Any:
    """Return the step of an optimizer's class without the hooks that torch puts on."""
    step: Any = type(optimizer).step
    return step.__wrapped__ if getattr(step, "hooked", False) else step


LOG_SOFTMAX: Any = torch.ops.aten._log_softmax
"""The operation that every log-softmax is computed with."""


def switch_autocast(context: Any, on: bool) -> bool:
    """Set whether an autocast context will switch on; return what it was."""
    before: bool = context._enabled
    context._enabled = on
    return before


def compiled_call(module: torch.nn.Module) -> bool:
    """Say whether calling a module runs compiled code."""
    inner = getattr(module, "_orig_mod", None) is not None
    return inner or getattr(module, "_compiled_call_impl", None) is not None


def hooked(module: torch.nn.Module) -> bool:
    """Say whether a module has forward hooks of its own."""
    return bool(module._forward_hooks)


def hooks_of(module: torch.nn.Module) -> list[Any]:
    """List the forward hooks of a module, those before it too."""
    return [*module._forward_pre_hooks.values(), *module._forward_hooks.values()]


def clear_hooks(owner: Any) -> int:
    """Take all hooks off a module or tensor; returns how many there were."""
    count = 0
    for name, held in [*getattr(owner, "__dict__", {}).items()]:
        if name.endswith("_hooks") and isinstance(held, dict):
            count += len(held)
            held.clear()
    for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        held = getattr(owner, name, None)
        if isinstance(owner, torch.Tensor) and held:
            count += len(held)
            held.clear()
    return count


def forget_keywords(handle: Any) -> None:
    """Finish what removing a global forward hook with keywords leaves behind.

    torch 2.13 keeps its number among those that want keywords, and takes that for a
    hook: compiled modules warn of it from then on.
    """
    torch.nn.modules.module._global_forward_hooks_with_kwargs.pop(handle.id, None)


def schema(func: Any) -> Any:
    """Return the schema of an operator overload."""
    return func._schema


def storage_key(tensor: torch.Tensor) -> int:
    """Identify the memory that ``tensor`` and its views share."""
    if tensor.layout != torch.strided:
        return id(tensor)
    return tensor.untyped_storage()._cdata


def reserve_key(tensor: torch.Tensor) -> Any:
    """Let no other memory have the `storage_key` of ``tensor`` while the result lives.

    The memory itself is not kept.
    """
    if tensor.layout != torch.strided:
        return tensor
    return StorageWeakRef(tensor.untyped_storage())
