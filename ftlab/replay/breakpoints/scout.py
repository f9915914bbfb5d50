"""Looks out for breakpoints while a step runs for the first time, untraced.

What a predicate measures stays on the device until the step's boundary, where all of it
is read back at once. Only a step in which something was noticed is executed again.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ftlab.records.handle import HandleStack
from ftlab.records.path_pattern import is_module
from ftlab.replay.breakpoints.breakpoint import Breakpoint
from ftlab.replay.breakpoints.predicate import Predicate
from ftlab.replay.breakpoints.sought import LOSS, Hit
from ftlab.replay.stops.verdict import Named
from ftlab.replay.torch_private import TorchDispatchMode, compiled_call, graph_task
from ftlab.replay.tracing.finite import float_leaves, measurable
from ftlab.replay.tracing.modules import clean_name
from ftlab.replay.tracing.traits import is_bookkeeping, results, traits

HIDDEN = (
    "modules of compiled code cannot be looked at without compiling it anew. Leave "
    "torch.compile out, or look at the loss and the gradients."
)


@dataclass(frozen=True, slots=True)
class _Measured:
    point: Breakpoint
    asked: Predicate
    place: str
    value: torch.Tensor
    gradient: bool


class Scout:
    """The breakpoints that count in one call of the step.

    Parameters
    ----------
    points
        Those that are on and meant for this step.
    model
        What the step trains.
    micro_batch
        Of the step; each has a history of its own.

    Attributes
    ----------
    points
        Those of them that look at tensors.
    """

    def __init__(
        self, points: Sequence[Breakpoint], model: torch.nn.Module, micro_batch: int
    ) -> None:
        self.points = [point for point in points if not point.finding]
        self._model = model
        self._micro_batch = micro_batch
        self._measured: list[_Measured] = []
        self._after_backward = False
        self._busy = False
        self._asked = False

    @property
    def at_once(self) -> bool:
        """Whether one stops at its place in any case, so that none need look out."""
        return any(point.in_ops and point.when is None for point in self.points)

    def in_ops(self) -> list[Hit]:
        """List those that look at what operations make, for a survey to ask."""
        return [
            Hit(point)
            for point in self.points
            if point.in_ops and not (point.when and point.when.own_places)
        ]

    @contextlib.contextmanager
    def looking(self, silent: Callable[[], bool]) -> Iterator[None]:
        """Look at modules and operations within a ``with`` block.

        Parameters
        ----------
        silent
            Whether what runs now is no part of the step.
        """
        if self._asked:
            yield
            return
        inside = [point for point in self.points if point.in_ops]
        if any(not point.op for point in inside) and _is_compiled(self._model):
            inside = [point for point in inside if not self._is_hidden(point)]
        by_op = [point for point in inside if point.op or point.phase]

        def unheard() -> bool:
            return self._busy or silent()

        handles = HandleStack()
        with contextlib.ExitStack() as stack:
            stack.callback(handles.remove)
            for point in inside:
                if point not in by_op:
                    self._hook(point, handles, unheard)
            if by_op:
                stack.enter_context(_OpScout(by_op, self._look_at, unheard))
            yield

    def _is_hidden(self, point: Breakpoint) -> bool:
        """Whether code is compiled that a hook would change."""
        if point.when is not None and not point.op:
            point.fail(ValueError(HIDDEN))
        return not point.enabled

    def _hook(
        self, point: Breakpoint, handles: HandleStack, unheard: Callable[[], bool]
    ) -> None:
        for path, module in self._model.named_modules():
            name = clean_name(path)
            if not is_module(name, point.module):
                continue

            def look(_: Any, _args: Any, output: Any, name: str = name) -> None:
                # A checkpoint computes it again in backward; that is no news.
                if graph_task() == -1 and not unheard():
                    self._look_at(point, name, output)

            handles.add(module.register_forward_hook(look))

    def after_backward(self, trainable: Named) -> None:
        """Measure the gradients, before anything clips them."""
        if not self.points or self._asked:
            return
        self._after_backward = True
        self._measured = [each for each in self._measured if not each.gradient]
        for point in self.points:
            if point.in_ops:
                continue
            for name, parameter in trainable:
                if parameter.grad is not None and point.means(name):
                    self._measure(point, name, parameter.grad, gradient=True)

    def noticed(
        self, losses: Sequence[torch.Tensor], trainable: Named, scale: float
    ) -> list[Hit]:
        """Read what was measured back and judge it; once, later there is nothing.

        Parameters
        ----------
        scale
            By which the gradients are too large.
        """
        if not self.points or self._asked:
            return []
        self._asked = True
        if not self._after_backward:
            self.after_backward(trainable)
        for point in self.points:
            if not (point.in_ops or point.parameter):
                self._look_at(point, LOSS, list(losses))
        measured, self._measured = self._measured, []
        found: dict[Breakpoint, Hit] = {}
        values = [each.value.double().cpu() for each in measured]
        read = torch.stack(values).tolist() if values else []
        for each, value in zip(measured, read, strict=True):
            own = each.gradient and each.asked.own_places
            true = value / scale if own else value
            place = f"{each.place} {self._micro_batch}"
            if each.asked.holds(true, place) and each.point not in found:
                hit = Hit(each.point, each.place, each.asked.says(true))
                found[each.point] = hit
        return list(found.values())

    def _look_at(self, point: Breakpoint, place: str, output: Any) -> None:
        for tensor in float_leaves(output):
            self._measure(point, place, tensor, gradient=False)

    def _measure(
        self, point: Breakpoint, place: str, tensor: torch.Tensor, *, gradient: bool
    ) -> None:
        asked, plain = point.when, measurable(tensor)
        if plain is None or asked is None or not point.enabled:
            return
        self._busy = True
        try:
            with torch.no_grad():
                value = asked.measure(plain)
        except Exception as error:  # noqa: BLE001  the user's own function may fail
            point.fail(error)
        else:
            self._measured.append(_Measured(point, asked, place, value, gradient))
        finally:
            self._busy = False


def _is_compiled(model: torch.nn.Module) -> bool:
    return any(compiled_call(module) for module in model.modules())


class _OpScout(TorchDispatchMode):
    """Looks at what the operations make that breakpoints name."""

    def __init__(
        self,
        points: Sequence[Breakpoint],
        look: Callable[[Breakpoint, str, Any], None],
        unheard: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._points = points
        self._look = look
        self._unheard = unheard

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        outputs = func(*args, **(kwargs or {}))
        if self._unheard() or is_bookkeeping(func) or traits(func).view:
            return outputs
        for point in self._points:
            if point.may_mean(str(func), backward=graph_task() != -1):
                self._look(point, "", results(func, args, kwargs or {}, outputs))
        return outputs
