"""Which operand of an operation made its result non-finite, where all are finite.

The largest one is not it where something is divided by zero: that leads away from the
cause. The debugger's chain follows what is found here.
"""

from collections.abc import Sequence
from typing import Any

import torch

from ftlab.replay.tracing.finite import all_finite, float_leaves, non_finite

IGNORED = -100
"""The label that cross entropy leaves out, by convention of torch and transformers."""

_SINGULAR_AT_ZERO = {
    "div": 1,
    "true_divide": 1,
    "addcdiv": 2,
    "_foreach_div": 1,
    "_foreach_addcdiv": 2,
    "reciprocal": 0,
    "rsqrt": 0,
    "log": 0,
    "log2": 0,
    "log10": 0,
    "pow": 0,
    "remainder": 1,
    "fmod": 1,
}
"""Position of the argument at whose zeros an operation has no finite value."""

_NORMALISING = (
    "native_layer_norm",
    "native_group_norm",
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_fused_rms_norm",
    "var",
    "std",
    "var_mean",
)
"""What divides by how much the values of its first argument spread."""

_CHOOSING = {"masked_fill": 1, "where": 0}
"""Position of the argument that chooses where an operation puts an infinity."""

_COPIES = (
    "clone",
    "_to_copy",
    "copy",
    "_unsafe_view",
    "constant_pad_nd",
    "cat",
    "stack",
    "repeat",
)
"""Operations whose result has the values of their inputs."""

_CREATIONS = ("zeros", "ones", "full", "empty", "rand", "new_", "arange", "scalar_t")
"""How the names begin of operations that read no values."""

_NEGATIVE_LOG_LIKELIHOOD = ("nll_loss_forward", "nll_loss2d_forward")


def troublemaker(
    func: Any, call: tuple[tuple[Any, ...], dict[str, Any]], outputs: Any
) -> torch.Tensor | None:
    """Return the argument that makes an operation's result non-finite.

    ``None`` where the result is finite, where an argument is not (that one is to be
    followed then), and where any could be it.

    Parameters
    ----------
    func
        The operation's overload.
    call
        Its arguments, when it has run.
    outputs
        What it gave.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.tracing.trouble import troublemaker
    >>> call = (torch.tensor([1e3, 2.0]), torch.tensor([0.0, 1.0])), {}
    >>> troublemaker(torch.ops.aten.div.Tensor, call, torch.tensor([torch.inf, 2.0]))
    tensor([0., 1.])
    """
    args = _focused(call[0], outputs)
    name = name_of(func)
    if all_finite(float_leaves(outputs)) or not args:
        return None
    if name in _NEGATIVE_LOG_LIKELIHOOD:
        return args[1] if bool((args[1] == IGNORED).all()) else None
    if name in _NORMALISING or name in _CHOOSING:
        return _tensor(args[_CHOOSING.get(name, 0)])
    position = _SINGULAR_AT_ZERO.get(name, len(args))
    found = _tensor(args[position]) if position < len(args) else None
    return found if found is not None and bool((found == 0).any()) else None


def is_copy(func: Any) -> bool:
    """Say whether an operation computes nothing new."""
    return name_of(func) in _COPIES


def is_creation(func: Any) -> bool:
    """Say whether an operation reads at most the shape of its arguments.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.tracing.trouble import is_creation
    >>> is_creation(torch.ops.aten.zeros_like.default)
    True
    """
    return name_of(func).startswith(_CREATIONS)


def is_division(func: Any) -> bool:
    """Say whether small arguments make large results in an operation."""
    return name_of(func) in _SINGULAR_AT_ZERO


def name_of(func: Any) -> str:
    """Return an operation's name without what tells how it is called.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.tracing.trouble import name_of
    >>> name_of(torch.ops.aten.addcdiv_.default)
    'addcdiv'
    """
    return str(func).partition(".")[2].partition(".")[0].rstrip("_")


def _focused(args: Sequence[Any], outputs: Any) -> Sequence[Any]:
    """Of lists that an op goes through together, take the first that went bad."""
    if not isinstance(outputs, list | tuple):
        return args
    bad = (i for i, each in enumerate(outputs) if non_finite(each) is not None)
    index, count = next(bad, 0), len(outputs)
    return [
        each[index] if isinstance(each, list | tuple) and len(each) == count else each
        for each in args
    ]


def _tensor(value: Any) -> torch.Tensor | None:
    return value if isinstance(value, torch.Tensor) else None
