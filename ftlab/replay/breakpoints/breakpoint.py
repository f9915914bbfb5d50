"""One breakpoint: in which steps, at which places, and under which condition."""

import warnings
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ftlab.records.errors import BadValueError, FtlabWarning
from ftlab.records.path_pattern import is_module
from ftlab.replay.breakpoints.predicate import Predicate, present
from ftlab.replay.tracing.site import Site

Steps = int | Container[int] | Callable[[int], bool]
"""One step, some steps, or a function that says of a step whether it is meant."""


@dataclass(eq=False, slots=True)
class Breakpoint:
    """A stop that the user asked for; made by `Debugger.break_at`.

    Attributes
    ----------
    module, op, parameter
        Patterns of a module's path or its end, of an operation's name or its beginning,
        and of a parameter's name or its end; ``""`` leaves it open.
    step
        The steps in which it counts; ``None`` for all.
    phase
        ``"forward"`` or ``"backward"``; ``""`` for both.
    when
        What the tensor must look like; ``None`` stops at the place in any case.
    finding
        Code or name of the rule whose finding it waits for.
    enabled
        Whether it counts now.
    hits
        How often it has stopped the run.

    Notes
    -----
    With a module or an operation the tensors are what operations there make. Otherwise
    they are the loss and the gradients, with ``parameter`` the gradients of those: they
    are looked at where the weights are about to change, at next to no cost.
    """

    module: str = ""
    op: str = ""
    parameter: str = ""
    step: Steps | None = None
    phase: str = ""
    when: Predicate | None = None
    finding: str = ""
    enabled: bool = True
    hits: int = 0
    _remove: Callable[["Breakpoint"], None] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("module", "op", "parameter", "phase", "finding"):
            if not isinstance(getattr(self, name), str):
                msg = f"break_at({name}={getattr(self, name)!r}): pass a string."
                raise BadValueError(msg)
        check_steps("break_at(step", self.step)
        self._check_together()
        if self.parameter and self.when is None:
            self.when = present()

    def _check_together(self) -> None:
        """Refuse conditions that do not go together."""
        if self.phase not in ("", "forward", "backward"):
            msg = (
                f"break_at(phase={self.phase!r}): pass 'forward' or 'backward', or "
                "omit it for both."
            )
            raise BadValueError(msg)
        if self.parameter and (self.module or self.op or self.phase):
            msg = (
                f"break_at(parameter={self.parameter!r}) checks gradients, but "
                "module=, op= and phase= check the outputs of operations; use one "
                "breakpoint for each."
            )
            raise BadValueError(msg)
        if self.op and not set(".*") & set(self.op):
            msg = (
                f"break_at(op={self.op!r}): operations have names such as "
                f"'aten.{self.op}'; '*{self.op}*' means all that contain it."
            )
            raise BadValueError(msg)
        if (self.op or self.phase) and self.when is not None and self.when.own_places:
            msg = (
                f"when={self.when.label!r} needs a history, which an operation does "
                "not have; use module= or parameter=, or neither."
            )
            raise BadValueError(msg)
        if self.finding and (self.in_ops or self.parameter or self.when is not None):
            msg = (
                f"break_at(finding={self.finding!r}) waits for a rule's finding; it "
                "can only be combined with step=."
            )
            raise BadValueError(msg)

    @property
    def in_ops(self) -> bool:
        """Whether it looks at what operations make."""
        anywhere = self.when is None and not (self.parameter or self.finding)
        return bool(self.module or self.op or self.phase) or anywhere

    def counts_in(self, step: int) -> bool:
        """Say whether it counts in a step."""
        try:
            return self.enabled and (self.step is None or is_step(self.step, step))
        except Exception as error:  # noqa: BLE001  the user's own function may fail
            self.fail(error)
            return False

    def is_at(self, site: Site) -> bool:
        """Say whether an operation is in the place."""
        if self.phase and site.phase != self.phase:
            return False
        if self.op and not is_op(site.op, self.op):
            return False
        return not self.module or (
            site.module is not None and _within(site.module, self.module)
        )

    def may_mean(self, op: str, *, backward: bool) -> bool:
        """Say whether an operation may be in the place; its module is not known."""
        phase = "backward" if backward else "forward"
        return self.phase in ("", phase) and (not self.op or is_op(op, self.op))

    def means(self, parameter: str) -> bool:
        """Say whether it looks at the gradient of a parameter."""
        return not self.parameter or is_module(parameter, self.parameter)

    def fail(self, error: Exception) -> None:
        """Switch it off, and say why: a function of the user's has failed."""
        self.enabled = False
        msg = (
            f"{self!r} failed with {type(error).__name__}: {error} It is off; training "
            "continues."
        )
        warnings.warn(msg, FtlabWarning, stacklevel=2)

    def remove(self) -> None:
        """Take it out of its debugger; may be called again."""
        self.enabled = False
        if self._remove is not None:
            self._remove(self)

    @property
    def label(self) -> str:
        """What it is, in words."""
        if self.finding:
            return f"finding {self.finding}"
        place = [self.op, self.module, self.parameter]
        words = [*[part for part in place if part], *([self.phase] * bool(self.phase))]
        words += [] if self.when is None else [self.when.label]
        return ", ".join(words) or "every step"

    def __repr__(self) -> str:
        more = [] if self.step is None else [f"step {_words(self.step)}"]
        more += [] if self.enabled else ["off"]
        more += [f"{self.hits} hit" + "s" * (self.hits != 1)] if self.hits else []
        return f"Breakpoint({', '.join([self.label, *more])})"


def is_step(steps: Steps, step: int) -> bool:
    """Say whether a step is meant.

    Examples
    --------
    >>> from ftlab.replay.breakpoints.breakpoint import is_step
    >>> is_step(3, 3), is_step(range(2), 3), is_step(lambda step: step > 2, 3)
    (True, False, True)
    """
    if isinstance(steps, Container):
        return step in steps
    return bool(steps(step)) if callable(steps) else step == steps


def check_steps(call: str, steps: object) -> None:
    """Refuse what cannot name steps.

    Raises
    ------
    BadValueError
        For a string or a fraction, for example.
    """
    whole = isinstance(steps, int) and not isinstance(steps, bool)
    several = isinstance(steps, Container) and not isinstance(steps, str)
    if not (steps is None or whole or several or callable(steps)):
        msg = (
            f"{call}={steps!r}): pass a step's number, a range or set of them, or a "
            "function of the number."
        )
        raise BadValueError(msg)


def is_op(name: str, pattern: str) -> bool:
    """Say whether an operation's name matches a pattern, with or without its overload.

    Examples
    --------
    >>> from ftlab.replay.breakpoints.breakpoint import is_op
    >>> is_op("aten.log.default", "aten.log"), is_op("aten.log2.default", "aten.log")
    (True, False)
    >>> is_op("aten._softmax.default", "*softmax*")
    True
    """
    bare = name.rpartition(".")[0]
    return any(fnmatchcase(each, pattern) for each in (name, bare))


def _within(path: str, pattern: str) -> bool:
    """Whether a module, or one that holds it, matches."""
    parts = path.split(".")
    return any(
        is_module(".".join(parts[:end]), pattern) for end in range(1, len(parts) + 1)
    )


def _words(step: Any) -> str:
    return getattr(step, "__name__", None) or str(step)
