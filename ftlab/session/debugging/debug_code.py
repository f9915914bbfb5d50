"""Debug code that does not know of ftlab: an unchanged cell, an unedited script."""

import ast
import types
from collections.abc import Callable, Mapping
from typing import Any, cast

from ftlab.records.errors import NotReplayableError
from ftlab.replay.engine import Engine
from ftlab.replay.wishes import Policy, Wishes
from ftlab.replay.worker import Worker
from ftlab.session.debugging.code_steps import CodeSteps
from ftlab.session.debugging.debugger import Debugger
from ftlab.session.debugging.late_engine import LateEngines
from ftlab.session.debugging.step_names import source_tree
from ftlab.session.debugging.step_source import LEFTOVERS, RUNNER, Rewritten, rewrite

NOTHING_DEBUGGED = (
    "ftlab saw no training that it can stop: no Trainer.train(), and no loop with "
    "backward() in this code. Use ftlab.debug(step, batches, model=model, "
    "optimizer=optimizer) for training that is elsewhere."
)


class DebuggedCode:
    """Code whose training runs under a debugger.

    Parameters
    ----------
    worker
        The training thread.
    policy
        Decides at a stop without a person.
    name
        What is debugged, for messages.

    Attributes
    ----------
    debugger
        The commands; ``run`` runs what was given to `prepare`.
    """

    def __init__(
        self, worker: Worker, policy: Policy | None = None, *, name: str = "this code"
    ) -> None:
        self._engines = LateEngines(worker, Wishes(policy))
        self._steps = CodeSteps(self._engines)
        self._run: Callable[[], None] = _nothing
        self._functions: tuple[str, ...] = ()
        engine = cast("Engine", self._engines)  # it has what a debugger asks for
        self.debugger = Debugger(lambda: self._run(), engine, worker, name=name)

    @property
    def seen(self) -> bool:
        """Whether training was found in it."""
        return self._engines.seen

    def rewrite(self, tree: ast.Module, namespace: Mapping[str, Any]) -> ast.Module:
        """Return ``tree`` with its loops made re-callable.

        Parameters
        ----------
        namespace
            What it will run in; functions that it calls are looked up there.

        Raises
        ------
        NotReplayableError
            When a loop cannot be made re-callable.
        """
        refuse_hidden_loops(tree, namespace)
        made = rewrite(tree, lambda name: _does_one_step(namespace.get(name)))
        self._functions = made.functions
        return made.tree

    def prepare(self, run: Callable[[], None], namespace: dict[str, Any]) -> None:
        """Let ``debugger.run()`` call ``run``, which executes in ``namespace``."""

        def run_with_steps() -> None:
            namespace[RUNNER] = self._steps
            try:
                run()
            finally:
                # Functions of the code that outlive it go on calling their steps.
                kept = {RUNNER} if self._functions else set()
                for name in {*LEFTOVERS} - kept:
                    namespace.pop(name, None)

        self._run = run_with_steps


def refuse_hidden_loops(tree: ast.Module, namespace: Mapping[str, Any]) -> None:
    """Raise when ``tree`` calls a function from elsewhere that has the loop.

    Raises
    ------
    NotReplayableError
        The message names the function.
    """
    defined = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        name = node.func.id
        if name not in defined and _has_loop(namespace.get(name)):
            msg = (
                f"Line {node.lineno}: {name}() contains the training loop but was "
                "defined elsewhere, so it cannot be split into steps. Put its "
                "definition into this cell, or write one step as a function and use "
                "ftlab.debug(step, batches, model=model, optimizer=optimizer)."
            )
            raise NotReplayableError(msg)


def _has_loop(value: Any) -> bool:
    found = _examined(value)
    return found is not None and found.steps > 0


def _does_one_step(value: Any) -> bool:
    return _calls_backward(value) and not _has_loop(value)


def _calls_backward(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and (
        "backward" in value.__code__.co_names
    )


def _examined(value: Any) -> Rewritten | None:
    if not isinstance(value, types.FunctionType) or _knows_us(value):
        return None
    tree = source_tree(value.__code__)
    if tree is None:
        return None
    try:
        return rewrite(tree)
    except NotReplayableError:
        return Rewritten(tree, 1, ())


def _knows_us(function: types.FunctionType) -> bool:
    return RUNNER in function.__code__.co_names


def _nothing() -> None:
    """Run no code."""
