"""EXP009, compiled: compiled code gives what the model gives eagerly.

## What must hold
Outputs and gradients of the compiled model are those of the same weights and batch run
eagerly, by no more than rounding.

## Why
A graph is made once: a constant that was read while it was traced, a hook or a frozen
weight that changed later, code that asks whether it is compiled, or a pass that
rewrites the graph trains another model than the one you read.

## When it does not apply
Models that are not compiled: ``ftlab.diff(model, batch, between="compile")`` compiles a
copy of any. Random numbers, dropout apart. Dropout drops nothing meanwhile: a copy's is
set to 0, and what is compiled already is run in evaluation.

## What to try
``torch.compiler.reset()`` after a change, no filter of guards, and a buffer for what
changes between steps.

## References
- torch, "torch.compile Troubleshooting"
"""

from typing import Any

import torch

from ftlab.executions.compiled import compiled, is_compiled
from ftlab.executions.side import NotApplicableError
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.records.outcome import Outcome


class CompiledCode(Experiment):
    """One step, compiled and eager."""

    code = "EXP009"
    name = "compiled"
    relation = "compiled code gives what the model gives eagerly"
    cause = "The graph was made under other conditions than it runs under."
    fix = (
        "Call torch.compiler.reset() after changes, filter no guards, and keep what "
        "changes between steps in a buffer."
    )

    def run(self, live: Live) -> Outcome:
        """Run what is compiled, or is about to be, and the same eagerly."""
        settings: dict[str, Any] = {}
        arguments = getattr(live.trainer, "args", None)
        if not is_compiled(live.model):
            if not getattr(arguments, "torch_compile", False):
                msg = 'the model is not compiled; ftlab.diff(..., between="compile") is'
                raise NotApplicableError(msg)
            settings["backend"] = getattr(arguments, "torch_compile_backend", None)
            settings["mode"] = getattr(arguments, "torch_compile_mode", None)
        given = {key: value for key, value in settings.items() if value is not None}
        with torch.compiler.set_stance("default"):
            found = compiled(live.model, live.batch, live.autocast, **given)
        return self.told(found)
