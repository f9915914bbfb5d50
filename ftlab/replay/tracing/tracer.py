"""A survey of one step: every operation with its place, and every origin."""

from collections.abc import Callable
from typing import Any

from ftlab.replay.torch_private import (
    TorchDispatchMode,
    current_node,
    graph_task,
    last_sequence,
    node_sequence,
)
from ftlab.replay.tracing.lineage import Lineage
from ftlab.replay.tracing.modules import ModuleStack
from ftlab.replay.tracing.origin import Origins
from ftlab.replay.tracing.site import Phase, Site, source_lines, within_checkpoint
from ftlab.replay.tracing.traits import is_bookkeeping, results, traits
from ftlab.replay.trials.changing import CallCounter


class OpTracer(TorchDispatchMode):
    """Sees every op of a step, forward and backward, and lets it run unchanged.

    Parameters
    ----------
    modules
        Says which module is running.
    origins, lineage
        Receive every op's inputs and outputs.
    insist
        Called before each op, see `Unwinding.insist`; what it returns true for is not
        counted.
    phase
        That of operations outside of backward.
    calls
        Numbers the calls of torch functions, if somebody wants to change one.
    look
        Called with each operation and what it has made.

    Attributes
    ----------
    sites
        The operations in order.
    silent
        While true, operations pass unseen: the tool's own ones.
    """

    def __init__(
        self,
        modules: ModuleStack,
        origins: Origins,
        lineage: Lineage,
        insist: Callable[[], bool],
        phase: Phase = "forward",
        *,
        calls: CallCounter | None = None,
        look: Callable[[Site, Any, Any], None] | None = None,
    ) -> None:
        super().__init__()
        self.sites: list[Site] = []
        self.silent = False
        self._modules = modules
        self._origins = origins
        self._lineage = lineage
        self._insist = insist
        self._phase: Phase = phase
        self._calls = calls
        self._look = look
        self._made: dict[int, Site] = {}
        # A reentrant checkpoint runs backward within backward, over nodes that its
        # recomputation made; their numbers may repeat those of the outer graph.
        self._remade: dict[int, Site] = {}
        self._first_task: int | None = None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run ``func`` and note where it ran and what became non-finite."""
        kwargs = kwargs or {}
        if self._insist() or self.silent or is_bookkeeping(func):
            return func(*args, **kwargs)
        site = self._site(func)
        self.sites.append(site)
        written = traits(func).written
        sources = self._origins.arguments(site, func, args, kwargs) if written else None
        outputs = func(*args, **kwargs)
        made = results(func, args, kwargs, outputs)
        self._origins.record(site, func, sources, (args, kwargs), made)
        self._lineage.record(site.index, func, (args, kwargs), made)
        if self._look is not None:
            self._look(site, func, made)
        return outputs

    def _site(self, func: Any) -> Site:
        module, kind = self._modules.innermost
        user, library = source_lines(optimizer=self._phase == "optimizer")
        node = current_node()
        index = len(self.sites)
        if node is None:
            self._first_task = None
            call = -1 if self._calls is None else self._calls.current
            place = (index, str(func), self._phase, module, kind, user, library)
            site = Site(*place, call=call)
            self._made.setdefault(last_sequence(), site)
            return site
        again = module is not None or within_checkpoint()
        phase: Phase = "recompute" if again else "backward"
        forward = self._forward_of(node) if phase == "backward" else None
        if forward is not None:
            module, kind = forward.module, forward.module_class
        site = Site(
            index,
            str(func),
            phase,
            module,
            kind,
            user,
            library,
            node=node.name(),
            forward=forward,
        )
        if phase == "recompute":
            self._remade.setdefault(last_sequence(), site)
        return site

    def _forward_of(self, node: Any) -> Site | None:
        task = graph_task()
        if self._first_task is None:
            self._first_task = task
        table = self._made if task == self._first_task else self._remade
        return table.get(node_sequence(node))
