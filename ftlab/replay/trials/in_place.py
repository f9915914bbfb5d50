"""Changes of what writes into its arguments: what is computed instead is written too.

A replacement that returns a new tensor would otherwise go nowhere: nobody reads what an
operation in place returns.
"""

from typing import Any

import torch

from ftlab.records.errors import BadValueError
from ftlab.replay.torch_private import schema
from ftlab.replay.tracing.finite import tensor_leaves
from ftlab.replay.tracing.traits import results, traits


def writes(op: str) -> bool:
    """Say whether an operation's name is that of one in place.

    Examples
    --------
    >>> from ftlab.replay.trials.in_place import writes
    >>> writes("aten.mul_.Tensor"), writes("aten.mul.Tensor")
    (True, False)
    """
    name = op.removeprefix("aten.").partition(".")[0]
    return name.endswith("_") and not name.endswith("__")


def on_op(apply: Any) -> Any:
    """Let ``apply`` see copies of what an operation overwrites, and write its result.

    Parameters
    ----------
    apply
        Computes something in place of an operation.
    """

    def changed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not _gives_what_it_writes(func):
            return apply(func, args, kwargs)
        own = _with_copies(func, args, kwargs)

        def giving(*args: Any, **kwargs: Any) -> Any:
            return results(func, args, kwargs, func(*args, **kwargs))

        made = apply(giving, *own)
        made = results(func, *own, None) if made is None else made
        return _written(func, results(func, args, kwargs, None), made)

    return changed


def on_call(apply: Any) -> Any:
    """Do the same for the call of a torch function that writes its first argument.

    What is written is differentiated: copying is an operation like others.
    """

    def changed(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target = args[0] if args else None
        if not isinstance(target, torch.Tensor):
            return apply(func, args, kwargs)

        def giving(*args: Any, **kwargs: Any) -> Any:
            func(*args, **kwargs)
            return args[0]

        made = apply(giving, args, kwargs)
        if isinstance(made, torch.Tensor) and made is not target:
            target.copy_(made)
        return target

    return changed


def _gives_what_it_writes(func: Any) -> bool:
    given = schema(func).returns
    return bool(traits(func).written) and all(
        each.alias_info is not None and each.alias_info.is_write for each in given
    )


def _with_copies(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    written = traits(func).written
    return (
        tuple(_twin(a) if i in written else a for i, a in enumerate(args)),
        {k: _twin(v) if k in written else v for k, v in kwargs.items()},
    )


def _twin(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_twin(item) for item in value]
    return value.clone() if isinstance(value, torch.Tensor) else value


def _written(func: Any, live: Any, made: Any) -> Any:
    """Write ``made`` into ``live``, and return what the operation returns."""
    targets, values = tensor_leaves(live), tensor_leaves(made)
    if [t.shape for t in targets] != [v.shape for v in values]:
        shapes = ", ".join(str(list(t.shape)) for t in targets)
        msg = (
            f"{schema(func).name} writes {shapes}; its replacement must return the "
            "same number of tensors with the same shapes."
        )
        raise BadValueError(msg)
    for target, value in zip(targets, values, strict=True):
        target.copy_(value)
    count = len(schema(func).returns)
    if count == 0:
        return None
    return targets[0] if count == 1 else tuple(targets)
