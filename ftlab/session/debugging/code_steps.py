"""Runs the bodies of rewritten loops as steps that can be stopped and called again.

Who calls whom: code that `ftlab.session.debugging.step_source` has rewritten calls
`CodeSteps.step` in every turn of its loop; the engine that is made there calls the
`CodeStep`, once or, for a replay, again.
"""

import sys
import types
from collections.abc import Iterable
from typing import Any

import torch

from ftlab.records.errors import AttachError
from ftlab.replay.control import Abort
from ftlab.replay.engine import Engine
from ftlab.session import search
from ftlab.session.debugging.late_engine import LateEngines
from ftlab.session.debugging.step_names import KeptNames, Variables, stored
from ftlab.session.debugging.step_syntax import INSTEAD


class CodeStep:
    """One turn of a loop: its body, and the variables as they were before it.

    Parameters
    ----------
    body
        The loop's body.
    objects
        Names of what it may change in place.

    Attributes
    ----------
    stands_for
        The body, whose variables are the step's.
    objects
        As given.
    done
        Whether the latest call came through.
    """

    def __init__(self, body: types.FunctionType, objects: Iterable[str]) -> None:
        self.stands_for = body
        self.objects = frozenset(objects)
        self.done = False
        self._names = KeptNames(body, objects)
        self._begun = False

    def __call__(self, **variables: Any) -> Any:
        """Run the body; a second time with the variables of the first."""
        if self._begun:
            self._names.restore()
        self._begun, self.done = True, False
        known = self._names.variables
        for name, value in variables.items():
            if name in known.names:
                known.set(name, value)
        result = self.stands_for()
        self.done = True
        return result

    def take_back(self) -> None:
        """Put the variables back, for a step that was given up."""
        if not self.done:
            self._names.restore()


class CodeSteps:
    """What rewritten code calls for each turn of its loops.

    Parameters
    ----------
    engines
        Those of the run.
    """

    def __init__(self, engines: LateEngines) -> None:
        self._engines = engines
        self._loops: dict[types.CodeType, tuple[Engine, Any]] = {}

    def step(
        self, body: types.FunctionType, objects: tuple[str, ...], batch: dict[str, Any]
    ) -> Any:
        """Run one turn and return what the body says of the loop's end."""
        if not self._engines.worker.current:
            return body()
        code = body.__code__
        caller = sys._getframe(1)  # noqa: SLF001  reports show the name of its function
        variables = Variables(body)
        engine = self._engine(code, variables, caller)
        body.__code__ = code.replace(
            co_name=caller.f_code.co_name, co_qualname=caller.f_code.co_qualname
        )
        step = CodeStep(body, objects)
        try:
            return engine.guard(step)(**{**batch, **_tensors(step, batch)})
        except Abort:
            step.take_back()
            raise

    def _engine(
        self, code: types.CodeType, variables: Variables, caller: types.FrameType
    ) -> Engine:
        known = self._loops.get(code)
        if known is None or not _still_there(known[1], variables):
            loop = _find(variables, caller)
            known = self._made(loop), loop.model
            self._loops[code] = known
        return self._engines.use(known[0])

    def _made(self, loop: search.Loop) -> Engine:
        # Session imports: `debug` imports what makes trainers' steps.
        from ftlab.session.debugging.debug import check_optimizers, decoder

        return self._engines.make(
            lambda: loop.model,
            optimizers=check_optimizers(loop.optimizers),
            decode=decoder(loop.tokenizer),
        )


def _still_there(model: Any, variables: Variables) -> bool:
    """Say whether the loop still has the model of its last turn, or none by name."""
    modules = [v for v in variables.found().values() if isinstance(v, torch.nn.Module)]
    return not modules or any(
        model is each or any(model is inner for inner in each.modules())
        for each in modules
    )


def _find(variables: Variables, caller: types.FrameType) -> search.Loop:
    """Find what the loop trains: by its own names, or else by those around it."""
    named = variables.found()
    loop, around = search.find_loop(search.objects(named)), search.frame_objects(caller)
    loop = loop or search.find_loop(around)
    if loop is not None:
        if loop.tokenizer is None:  # batches are often made elsewhere
            loop.tokenizer = search.one_tokenizer(around)
        return loop
    modules = [v for v in named.values() if isinstance(v, torch.nn.Module)]
    model = max(modules, key=lambda m: sum(1 for _ in m.parameters()), default=None)
    if model is None:
        msg = f"No variable holds the model that the loop trains. {INSTEAD}"
        raise AttachError(msg)
    return search.Loop(model, [])


def _tensors(step: CodeStep, batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return the other tensors that the body reads: they are its inputs too."""
    made = stored(step.stands_for.__code__) - step.objects
    return {
        name: value
        for name, value in Variables(step.stands_for).found().items()
        if isinstance(value, torch.Tensor)
        and not isinstance(value, torch.nn.Parameter)
        and not value.requires_grad
        and name not in {*batch, *made}
    }
