"""What-if: a step executed with one thing changed, to see whether it goes wrong still.

A change of an operation is made where the derivative sees it: around the call of the
torch function that issued it (``x.log()``), so that what is computed instead is
differentiated. Where there is no such call, in backward, the operation itself is
changed.
"""

import contextlib
import copy
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_map, tree_map_only

from ftlab.records.errors import BadValueError
from ftlab.records.near import near
from ftlab.replay.capsules.inputs import named_tensors
from ftlab.replay.stops.spans import token_ids
from ftlab.replay.tracing.site import Site
from ftlab.replay.trials.changing import (
    Apply,
    ChangedCalls,
    ChangedOps,
    ReplacedOps,
    before_updates,
)
from ftlab.replay.trials.in_place import on_call, on_op, writes
from ftlab.replay.trials.rates import Rate


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a step is executed with.

    Attributes
    ----------
    label
        What it is, in words.
    ops, calls
        What is computed instead, by index of the operation, or of the torch function's
        call.
    names
        What is computed instead of the operations of a name that come outside of those
        calls, and in backward outside of their derivatives.
    skip
        Samples that are left out of the batch.
    scale
        The loss scale.
    rate
        Makes an optimizer's new learning rate out of its own.
    """

    label: str
    ops: Mapping[int, Apply] = field(default_factory=dict)
    calls: Mapping[int, Apply] = field(default_factory=dict)
    names: Mapping[str, Apply] = field(default_factory=dict)
    skip: tuple[int, ...] = ()
    scale: float | None = None
    rate: Rate | None = None

    def inputs(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the step's arguments as it is called with now."""
        if not self.skip:
            return args, kwargs
        changed: tuple[tuple[Any, ...], dict[str, Any]]
        changed = without_samples((args, kwargs), self.skip)
        return changed

    @contextlib.contextmanager
    def active(self, silent: Callable[[], bool]) -> Iterator[None]:
        """Change operations within a ``with`` block; ``silent`` ones do not count."""
        calls = ChangedCalls(self.calls, silent)
        with contextlib.ExitStack() as stack:
            if self.calls:
                stack.enter_context(calls)
            if self.ops:
                stack.enter_context(ChangedOps(self.ops, silent))
            if self.names:
                replaced = ReplacedOps(self.names, calls, silent)
                stack.enter_context(before_updates(replaced))
                stack.enter_context(replaced)
            yield


Plan = Callable[[Sequence[Site]], Change]
"""Makes a change of a step whose operations know their calls."""


def patch(index: int, function: Callable[[torch.Tensor], torch.Tensor]) -> Plan:
    """Let ``function`` have the last word on what the operation at ``index`` gives."""

    def apply(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = func(*args, **kwargs)
        return tree_map(lambda leaf: _patched(leaf, function, args), found)

    return lambda sites: _at(sites[index], apply, "patch of {}")


def in_float32(index: int) -> Plan:
    """Compute the operation at ``index`` in float32; its result keeps its dtype."""

    def apply(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        wide_args, wide_kwargs = tree_map_only(torch.Tensor, _wide, (args, kwargs))
        given = _floats((args, kwargs))
        low = given[0].dtype if given else torch.float32
        with torch.autocast(given[0].device.type if given else "cpu", enabled=False):
            found = func(*wide_args, **wide_kwargs)
        return tree_map_only(torch.Tensor, lambda t: _narrow(t, low), found)

    return lambda sites: _at(sites[index], apply, "{} in float32")


def replace_op(op: str, function: Callable[..., Any]) -> Plan:
    """Compute ``function`` in place of every operation that is named ``op``.

    Around a forward operation ``function`` is differentiated too, and what that runs in
    backward is not replaced once more. It may be other operations than before, so
    what else is to be replaced goes by name, not by index.
    """

    def apply(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return function(*args, **kwargs)

    def build(sites: Sequence[Site]) -> Change:
        named = [site for site in sites if _is_op(site, op)]
        alone = {call for call in {s.call for s in named} if _is_alone(sites, call)}
        meant = [site for site in named if not _differentiates(site, alone)]
        return Change(
            f"{len(meant)} x {_with_overloads(op, meant)} replaced",
            calls={s.call: _on_call(s, apply) for s in meant if s.call in alone},
            names={s.op: on_op(apply) for s in meant if s.call not in alone},
        )

    return build


def check_op(sites: Sequence[Site], op: str) -> None:
    """Refuse the name of an operation that a step does not have.

    Raises
    ------
    BadValueError
        With the names that are near.
    """
    names = {site.op.rpartition(".")[0] for site in sites}
    if sites and not any(_is_op(site, op) for site in sites):
        msg = f"replace({op!r}): this step has no such operation; {near(op, names)}."
        raise BadValueError(msg)


def without_samples(value: Any, skip: tuple[int, ...]) -> Any:
    """Return the arguments of a step without some rows of the batch.

    Raises
    ------
    BadValueError
        When the batch has no such samples, or none would be left.

    Examples
    --------
    >>> import torch
    >>> from ftlab.replay.trials.changes import without_samples
    >>> without_samples({"input_ids": torch.tensor([[1, 2], [3, 4]])}, (0,))
    {'input_ids': tensor([[3, 4]])}
    """
    size = _batch_size(value)
    kept = [row for row in range(size) if row not in skip]
    if not kept or any(row not in range(size) for row in skip):
        msg = (
            f"skip_sample{skip!r}: the batch has the samples 0 to {size - 1}, and at "
            "least one must remain."
        )
        raise BadValueError(msg)

    def rows(leaf: Any) -> Any:
        if isinstance(leaf, UserDict):  # BatchEncoding and its like
            twin: Any = copy.copy(leaf)
            twin.data = tree_map(rows, leaf.data)
            return twin
        sized = isinstance(leaf, torch.Tensor) and leaf.shape[:1] == (size,)
        if not sized or isinstance(leaf, torch.nn.Parameter):
            return leaf
        return leaf[torch.tensor(kept, device=leaf.device)]

    return tree_map(rows, value)


def _batch_size(value: Any) -> int:
    ids = token_ids(value)
    if ids is not None:
        return ids.shape[0]
    sizes = (size for _, tensor in named_tensors(value) for size in tensor.shape[:1])
    return max(sizes, default=0)


def _at(site: Site, apply: Apply, words: str) -> Change:
    label = words.format(f"{site.op} {site.index}")
    if site.call >= 0:
        return Change(label, calls={site.call: _on_call(site, apply)})
    return Change(label, ops={site.index: on_op(apply)})


def _on_call(site: Site, apply: Apply) -> Apply:
    changed: Apply = on_call(apply) if writes(site.op) else apply
    return changed


def _patched(leaf: Any, function: Callable[[torch.Tensor], Any], args: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
        return leaf
    in_place = any(leaf is argument for argument in args)
    new = function(leaf.clone() if in_place else leaf)
    if not isinstance(new, torch.Tensor) or new.shape != leaf.shape:
        given = list(new.shape) if isinstance(new, torch.Tensor) else type(new).__name__
        msg = (
            f"The patch gave {given} for a tensor of shape {list(leaf.shape)}; it must "
            "return a tensor of the same shape."
        )
        raise BadValueError(msg)
    new = new.to(leaf.dtype)
    return leaf.copy_(new) if in_place else new


def _is_op(site: Site, op: str) -> bool:
    return site.op == op or site.op.startswith(f"{op}.")


def _differentiates(site: Site, calls: set[int]) -> bool:
    """Whether an operation is the derivative of what one of some calls computes."""
    made = site.forward if site.phase == "backward" else None
    return made is not None and made.call in calls


def _with_overloads(op: str, sites: Sequence[Site]) -> str:
    """Name the overloads that a name stands for if there are several."""
    found = dict.fromkeys(site.op.removeprefix(f"{op}.") for site in sites)
    return f"{op} ({', '.join(found)})" if len(found) > 1 else op


def _is_alone(sites: Sequence[Site], call: int) -> bool:
    """Whether a torch function's call issues one operation only."""
    return call >= 0 and sum(site.call == call for site in sites) == 1


def _floats(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    tree_map_only(torch.Tensor, found.append, value)
    return [tensor for tensor in found if tensor.is_floating_point()]


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.is_floating_point() else tensor


def _narrow(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
