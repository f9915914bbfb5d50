"""Where the graph is cut: which module's output has none, although its input had.

Who calls whom: the batch of a due step (`GraphFlow.on_batch`) puts hooks on all
modules, which tell `FlowCalls`. They stay on during backward, so that what a checkpoint
computes again is seen too, and come off in `GraphFlow.on_gradients`, which hands over.
A loop that never calls the model itself gives no batch: then `on_gradients` puts them
on, for the step that follows, and they only tell which modules are called.
"""

import operator
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch

from ftlab.probes.compilation.compiled_hooks import in_a_graph
from ftlab.probes.dynamo_private import leave_to_python
from ftlab.probes.graph.flow_calls import FlowCalls, tensors_in
from ftlab.probes.graph.module_hook import SharedHook, SharedPreHook
from ftlab.probes.graph.recomputed import Recomputed
from ftlab.probes.graph.step_calls import SecondLook, StepCalls, marked
from ftlab.probes.hooked import HookedProbe
from ftlab.probes.inventory import hookable_modules
from ftlab.probes.naming import clean_name
from ftlab.probes.precision.autocast_states import AutocastStates
from ftlab.probes.probe import Moment, Reading
from ftlab.probes.schedule import every
from ftlab.probes.torch_private import hook_modules, is_within_backward
from ftlab.records.step import Column


class GraphFlow(HookedProbe):
    """Find the modules at which tensors lose their graph, on due steps.

    A step is due by the schedule, and when a parameter that had a gradient at the step
    before has none. Only modules where something is wrong get a row: in ``cuts``, or in
    ``unreached`` where no gradient came to their parameters; parameters in whose place
    other tensors stand during the forward get one in ``swapped``. Compiled modules are
    not looked into.
    """

    light = False
    table: ClassVar[str] = "cuts"
    columns: ClassVar[Sequence[Column]] = (
        Column("cut", "1", "1 where tensors lost their graph at this module."),
    )

    def __init__(self, interval: int = 16) -> None:
        super().__init__()
        self._due = every(interval)
        self._again = False
        self._step = -1
        self._calls: FlowCalls | None = None
        self._called: StepCalls | None = None
        self._second = SecondLook()
        self._blind = False
        self._batch = -1
        self._received: Sequence[bool] = ()
        self._recomputed = Recomputed()
        self._autocast = AutocastStates()

    def on_batch(self, moment: Moment, inputs: Mapping[str, Any]) -> Iterable[Reading]:
        """Put hooks on the modules when the step is due."""
        self._batch = moment.step
        fresh, self._blind = self._blind, False
        if not (self._due(moment.step) or self._again):
            self._hooks.remove()
            self._calls = None
            return ()
        if self._calls is None or self._step != moment.step or fresh:
            self._begin_step(moment)
        if self._calls is None or self._called is None:  # all is compiled
            return ()
        self._calls.begin_model(inputs)
        self._called.began("")
        return ()

    def _begin_step(self, moment: Moment) -> None:
        self._hooks.remove()
        self._calls = self._called = None
        modules = hookable_modules(moment.subject.model)
        if not modules:
            return
        self._step, self._calls = moment.step, _follow(modules)
        # Weakly: nobody may live longer for being looked at.
        alive = weakref.WeakValueDictionary(modules)
        self._called = StepCalls(moment, alive, self._second)
        self._recomputed.begin()
        self._autocast.begin(modules)
        paths = {id(module): path for path, module in modules}
        self._hooks.add(
            hook_modules(
                modules,
                before=SharedPreHook(self.begin, paths),
                first=SharedHook(self.before_hooks, paths),
                last=SharedHook(self.end, paths),
            )
        )

    def begin(self, path: str, inputs: Any) -> None:
        """Pass on that a module is called; must not raise in the model."""
        calls, called = self._calls, self._called
        if calls is None or called is None or self._error is not None:
            return
        try:
            calls.begin(path, inputs)
            called.began(path)
        except Exception as error:  # noqa: BLE001  raised in on_gradients instead
            self._error = error

    def before_hooks(self, path: str, output: Any) -> None:
        """Pass on a module's output as no hook has touched it."""
        if self._calls is None or self._error is not None:
            return
        try:
            self._calls.before_hooks(path, output)
        except Exception as error:  # noqa: BLE001  raised in on_gradients instead
            self._error = error

    def end(self, path: str, output: Any) -> None:
        """Pass on a module's output as the next one sees it."""
        calls, called = self._calls, self._called
        if calls is None or called is None or self._error is not None:
            return
        try:
            again, made = is_within_backward(), tensors_in(output)
            calls.end(path, made)
            called.ended(path, output, made, again=again)
            self._recomputed.see(path, output, again=again)
            if not again:
                self._autocast.see(path)
        except Exception as error:  # noqa: BLE001  raised in on_gradients instead
            self._error = error

    def on_gradients(self, moment: Moment) -> Iterator[Reading]:
        """Take the hooks off and hand over what they have seen."""
        self._hooks.remove()
        self._raise_failure()
        received = [each.grad is not None for each in moment.tensors.parameters]
        self._again = self._step != moment.step and _fewer(self._received, received)
        self._received = received
        blind, self._blind = self._blind, False
        calls, called = self._calls, self._called
        if blind:
            self._step = moment.step
        elif self._batch != moment.step and not all(received):
            self._look_without_batch(moment)
            return
        if calls is None or called is None or self._step != moment.step:
            return
        yield from self._recomputed.readings(moment)
        yield from self._autocast.readings(moment)
        if calls.cuts:
            yield _rows(moment, calls)
        yield from called.readings(moment, calls.unreturned)
        self._again = self._again or self._second.wanted or self._autocast.wanted

    def _look_without_batch(self, moment: Moment) -> None:
        """Put hooks on for the next step of a loop that never calls the model."""
        due = self._due(moment.step) or self._again
        if due and not in_a_graph(moment.subject.model):
            self._begin_step(moment)
            self._blind = self._calls is not None

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the number of cuts and of recomputed calls."""
        if self._blind:  # what is on is for the next step
            return {}
        calls, self._calls, self._called = self._calls, None, None
        if calls is None or self._step != moment.step:
            return {}
        return {
            "graph_cuts": float(len(calls.cuts)),
            "recomputed": float(self._recomputed.count),
        }


for _method in (GraphFlow.begin, GraphFlow.before_hooks, GraphFlow.end):
    leave_to_python(_method)


def _follow(modules: Sequence[tuple[str, torch.nn.Module]]) -> FlowCalls:
    """Begin to follow calls, knowing where trainable parameters are."""
    trainable: set[str] = set()
    own: set[str] = set()
    full: set[str] = set()
    for path, module in modules:
        held = [
            each for each in vars(module)["_parameters"].values() if each is not None
        ]
        parts = path.split(".")
        above = [".".join(parts[:n]) for n in range(len(parts) + 1)] if held else ()
        full.update(above)
        if any(each.requires_grad for each in held):
            own.add(path)
            trainable.update(above)
    # What is compiled is not among these modules, and may hold parameters.
    empty = ((path, module) for path, module in modules if path not in full)
    bare = {path for path, module in empty if next(module.parameters(), None) is None}
    paths = {id(module): path for path, module in modules}
    return FlowCalls(trainable, own, bare, paths)


def _fewer(before: Sequence[bool], now: Sequence[bool]) -> bool:
    """Tell whether a parameter that had a gradient has none now."""
    return any(map(operator.gt, before, now))


def _rows(moment: Moment, calls: FlowCalls) -> Reading:
    """Name the modules; what is a part of a PEFT layer is told as the layer."""
    modules = dict(hookable_modules(moment.subject.model))
    rows: dict[str, dict[str, str]] = {}
    for path, cut in calls.cuts.items():
        meta = {"kind": cut.kind, "op": cut.op, "to": clean_name(cut.to)}
        meta["class"] = type(modules.get(path)).__name__
        rows.setdefault(path.removesuffix(".base_layer") or "model", meta)
    return marked(moment, "cuts", "module", rows, column="cut")
