"""Whether a compiled model is called at all, or passed by.

Only calls of what ``torch.compile`` returned are compiled. Its attributes are those of
the module inside: ``net.training_step(x)`` and ``net._orig_mod(x)`` run that one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import torch

from ftlab.probes.dynamo_private import (
    compiles_as_asked,
    is_compiled_call,
    leave_to_python,
)
from ftlab.probes.probe import Moment, Probe, Reading
from ftlab.probes.subject import Subject
from ftlab.probes.taps.forward import innermost, tap_forward
from ftlab.records.handle import Handle
from ftlab.records.step import Column


class CompiledCalls(Probe):
    """Count the calls of the module in an ``OptimizedModule`` that reach it from there.

    Calls under a stance such as ``force_eager`` are not counted.
    """

    columns: ClassVar[Sequence[Column]] = (
        Column("compiled_calls", "1", "Calls of the model from what is compiled."),
        Column("bypassed_calls", "1", "Calls with a graph that passed this by."),
    )

    def __init__(self) -> None:
        self._on = False
        self._compiled = 0
        self._bypassed = 0
        self._counts: dict[str, float] = {}

    def attach(self, subject: Subject) -> Iterable[Handle]:
        """Listen at the model inside, where there is a wrapper that compiles."""
        self._on = _is_wrapped(subject.model)
        return [tap_forward(self, subject.model)] if self._on else []  # type: ignore[arg-type]

    def on_forward(
        self, _module: torch.nn.Module, _inputs: Mapping[str, Any], graph: bool
    ) -> None:
        """Hear that the model is about to run."""
        if is_compiled_call():
            self._compiled += 1
        elif graph and compiles_as_asked():
            self._bypassed += 1

    def before_update(self, moment: Moment) -> Iterable[Reading]:
        """Keep the counts: the next call may be the next step's."""
        if self._on:
            self._counts["compiled_calls"] = float(self._compiled)
            self._counts["bypassed_calls"] = float(self._bypassed)
        self._compiled = self._bypassed = 0
        return ()

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Give the counts of the step."""
        counts, self._counts = self._counts, {}
        return counts


leave_to_python(CompiledCalls.on_forward)


def _is_wrapped(model: torch.nn.Module) -> bool:
    """Tell whether a wrapper around the model compiles, and whether calls show that.

    ``torch.compiler.disable`` makes such a wrapper as well; and for a class of torch's
    own, as ``Sequential``, the hook is within the graph.
    """
    inner = innermost(model)
    if getattr(inner.forward, "__module__", "torch.").startswith("torch."):
        return False
    while model is not inner:
        if type(vars(model).get("dynamo_ctx")).__name__ == "OptimizeContext":
            return True
        model = next(model.children())
    return False
