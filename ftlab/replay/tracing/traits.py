"""What an operator does to its arguments, read from its schema."""

import functools
from dataclasses import dataclass
from typing import Any

from ftlab.replay.torch_private import schema

_FILLS = (
    "full",
    "fill",
    "masked_fill",
    "where",
    "scalar_tensor",
    "new_full",
    "full_like",
)
_UNINITIALISED = ("empty", "new_empty", "resize")
_OVERWRITES = (
    "copy_",
    "fill_",
    "zero_",
    "normal_",
    "uniform_",
    "bernoulli_",
    "random_",
)


@dataclass(frozen=True, slots=True)
class OpTraits:
    """How the origin rule treats an operator.

    Attributes
    ----------
    view
        The outputs share memory with an input and compute nothing.
    fill
        It writes a constant that the caller chose: an infinity is intended.
    uninitialised
        The output holds whatever the memory held.
    written
        Positions and keywords of the arguments that it changes.
    ignored
        Those of them whose earlier values it does not read.
    """

    view: bool
    fill: bool
    uninitialised: bool
    written: frozenset[int | str]
    ignored: frozenset[int | str]


def is_bookkeeping(func: Any) -> bool:
    """Whether an operator belongs to the profiler, not to the step."""
    return func.namespace == "profiler"


@functools.cache
def traits(func: Any) -> OpTraits:
    """Read the traits of an operator overload."""
    name = schema(func).name.partition("::")[2]
    bare = name.removesuffix("_")
    written: set[int | str] = set()
    outs: set[int | str] = set()
    for position, argument in enumerate(schema(func).arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            written |= {position, argument.name}
            if argument.is_out:
                outs |= {position, argument.name}
    return OpTraits(
        view=func.is_view and not written,
        fill=bare in _FILLS,
        uninitialised=bare.startswith(_UNINITIALISED),
        written=frozenset(written),
        ignored=frozenset(written if name in _OVERWRITES else outs),
    )


def read_arguments(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[int | str, Any]]:
    """List the arguments whose values the operator reads, with position or keyword."""
    ignored = traits(func).ignored
    pairs: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    return [(key, value) for key, value in pairs if key not in ignored]


def results(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Any
) -> Any:
    """Return what an operator gave: some return nothing and only write.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.tracing.traits import results
    >>> tensors = [torch.zeros(1)]
    >>> results(torch.ops.aten._foreach_add_.Scalar, (tensors, 1), {}, None)
    [tensor([0.])]
    """
    written = traits(func).written
    if (outputs is not None and outputs != ()) or not written:
        return outputs
    pairs: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    found = [value for key, value in pairs if key in written]
    return found[0] if len(found) == 1 else found
