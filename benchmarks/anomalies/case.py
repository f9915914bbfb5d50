"""The shape of a planted anomaly: how to build it, and where it is truly born.

The truth is thought out, never read off a debugger: it is the first operation whose
output is anomalous while what it reads is not, among those that the loss or a gradient
is made of. In backward the line is that of the forward operation it belongs to.
"""

import inspect
import linecache
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

MARK = "# <- born here"
"""Ends the line of a case's own code at which its anomaly is born."""

Batch = dict[str, Any]
Phase = Literal["forward", "backward", "optimizer"]


@dataclass(frozen=True, slots=True)
class Live:
    """A run as its user has it: a Trainer, or a step function and its batches.

    Attributes
    ----------
    model
        What is trained.
    optimizer
        Trains it; ``None`` under a Trainer, which makes its own.
    step
        Trains on one micro-batch; ``None`` under a Trainer.
    batches
        What ``step`` is called with, one after the other.
    scaler
        The GradScaler of the loop, if any.
    trainer
        A Trainer that is ready for ``train()``.
    """

    model: torch.nn.Module
    optimizer: Any = None
    step: Callable[[Batch], torch.Tensor] | None = None
    batches: Sequence[Batch] = ()
    scaler: Any = None
    trainer: Any = None


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source code.

    Attributes
    ----------
    file
        The end of its path.
    text
        The line without its indentation.
    number
        Where it is, if that is fixed; lines of libraries move.
    """

    file: str
    text: str
    number: int = 0

    def is_at(self, place: str) -> bool:
        """Say whether ``place``, such as ``"src/step.py:12 step"``, is this line."""
        file, _, rest = place.partition(":")
        digits = rest.partition(" ")[0]
        if not file.endswith(self.file) or not digits.isdigit():
            return False
        if self.number:
            return int(digits) == self.number
        roots = (Path.cwd(), Path(sysconfig.get_path("purelib")))
        texts = [linecache.getline(str(root / file), int(digits)) for root in roots]
        return self.text in [text.strip() for text in texts]


@dataclass(frozen=True, slots=True)
class Expected:
    """Where an anomaly is born.

    Attributes
    ----------
    phase
        ``optimizer`` is inside ``optimizer.step()``.
    op
        Full name, ``"aten.div.Tensor"``; several where torch picks one of them.
    module
        Path of the innermost module, ``""`` for the root, ``None`` outside of all; the
        class of one that the model does not hold.
    kind
        As in ``PauseReport.kind``, and ``optimizer`` or ``state`` (of an optimizer).
    line
        The line at fault. In backward that of the forward op, or of the user's own
        backward code.
    forward
        In backward, the forward op whose derivative it is; empty for own code.
    step, micro_batch
        The optimizer step, and the micro-batch of it, at which a run must stop.
    name
        The parameter, buffer or entry of the batch that held it already. With
        ``optimizer`` and ``state`` the parameter whose state or weight goes bad.
    """

    phase: Phase
    op: frozenset[str]
    module: str | None
    kind: str
    line: Line
    forward: frozenset[str] = frozenset()
    step: int = 0
    micro_batch: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A planted anomaly and its healthy twin.

    Attributes
    ----------
    id
        The name of the builder, with dashes.
    title
        What is planted, in one line.
    family
        The file that holds it.
    builder
        Makes the run; with ``True`` the twin that must never stop.
    expected
        Where it is born.
    uses
        What is at work in the run: ``"lora"``, ``"autocast-fp16"``...
    unmodified
        Whether transformers, TRL or peft run as they are, and data, weights or
        configuration alone plant it.
    """

    id: str
    title: str
    family: str
    builder: Callable[[int, bool], Live]
    expected: Expected
    uses: frozenset[str] = frozenset()
    unmodified: bool = False

    def build(self, seed: int = 0, healthy: bool = False) -> Live:
        """Build the run, or its healthy twin."""
        return self.builder(seed, healthy)


Builder = Callable[[int, bool], Live]
Names = str | frozenset[str]


def plant(
    op: Names,
    *,
    phase: Phase = "forward",
    module: str | None = None,
    kind: str = "",
    line: Line | None = None,
    forward: Names = frozenset(),
    step: int = 0,
    micro_batch: int = 0,
    name: str = "",
    uses: str = "",
    unmodified: bool | None = None,
) -> Callable[[Builder], Case]:
    """Make a `Case` of a function that builds a run.

    Without ``line`` the function holds the line at fault itself, with `MARK` on it.

    Examples
    --------
    >>> from benchmarks.anomalies.case import plant
    >>> @plant("aten.log.default", step=1)
    ... def log_of_zero(seed, healthy):
    ...     '''Take the logarithm of nothing.'''
    ...     ...  # <- born here
    >>> log_of_zero.id, log_of_zero.expected.kind, log_of_zero.expected.line.text
    ('log-of-zero', 'outside modules', '...  # <- born here')
    """

    def register(builder: Builder) -> Case:
        born = "outside modules" if module is None else "module"
        expected = Expected(
            phase=phase,
            op=_names(op),
            module=module,
            kind=kind or (born if phase == "forward" else phase),
            line=born_in(builder) if line is None else line,
            forward=_names(forward),
            step=step,
            micro_batch=micro_batch,
            name=name,
        )
        return Case(
            id=builder.__name__.replace("_", "-"),
            title=(inspect.getdoc(builder) or "").partition("\n")[0],
            family=builder.__module__.rpartition(".")[2],
            builder=builder,
            expected=expected,
            uses=frozenset(uses.split()),
            unmodified=line is not None if unmodified is None else unmodified,
        )

    return register


def born_in(function: Callable[..., Any] | type) -> Line:
    """Return the one line of ``function`` that carries `MARK`.

    Raises
    ------
    ValueError
        When none does, or several do.
    """
    lines, first = inspect.getsourcelines(function)
    marked = [i for i, line in enumerate(lines) if line.rstrip().endswith(MARK)]
    if len(marked) != 1:
        msg = f"{function.__name__} has {len(marked)} lines that end in {MARK!r}; "
        raise ValueError(msg + "mark exactly one.")
    file = Path(inspect.getfile(function))
    number = first + marked[0]
    return Line(file.name, lines[marked[0]].strip(), number)


def _names(names: Names) -> frozenset[str]:
    if isinstance(names, str):
        return frozenset({names} if names else ())
    return names
