"""The operations of one step, in order, with the range of what each has made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ftlab.records.texts import Excerpt, Listing, SampleText

Making = Literal["", "view", "constant", "uninitialised"]


@dataclass(frozen=True, slots=True)
class TracedOp:
    """One operation of a recorded step.

    Attributes
    ----------
    index
        Position in the step's order of operations, from 0.
    op
        Full name, ``"aten.log.default"``.
    phase
        ``forward``, ``recompute`` (the second forward of a checkpointed block),
        ``backward`` or ``optimizer``.
    module
        Path of the innermost module, ``""`` for the model itself, ``None`` outside of
        all modules.
    module_class
        Its class.
    user_line, library_line
        Innermost source line outside installed packages, and outside torch.
    node, forward
        In backward: the autograd node, and the operation that made it; -1 if unknown.
    parameter
        In an optimizer's step: whose update it is, ``""`` when that of several.
    parents
        Operations that made what it has read; -1 is the first of `Trace.sources`, -2
        the second.
    making
        Whether it computes: a ``view`` does not, a ``constant`` was chosen by the
        caller, and ``uninitialised`` memory holds anything.
    dtype, shape
        Of what it made; the most unusual tensor, if several.
    low, high
        The range of its values, infinities included; ``None`` where it has no order,
        no values or a NaN.
    nans, infs
        Counts of non-finite values; -1 where there are some that were not counted.

    Examples
    --------
    >>> from ftlab.records.trace import TracedOp
    >>> TracedOp(
    ...     7,
    ...     "aten.log.default",
    ...     module="mlp",
    ...     module_class="MLP",
    ...     dtype="float32",
    ...     shape=(2, 3),
    ...     nans=4,
    ... )
    7 aten.log.default, forward, in mlp (MLP): float32[2, 3], 4 NaN
    """

    index: int
    op: str
    phase: str = "forward"
    module: str | None = None
    module_class: str = ""
    user_line: str = ""
    library_line: str = ""
    node: str = ""
    forward: int = -1
    parameter: str = ""
    parents: tuple[int, ...] = ()
    making: Making = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    nans: int = 0
    infs: int = 0

    @property
    def non_finite(self) -> bool:
        """Whether it made a NaN or an infinity."""
        return bool(self.nans or self.infs)

    @property
    def line(self) -> str:
        """The line to read: the library's within a module or an optimizer."""
        if self.module or self.phase == "optimizer":
            return self.library_line or self.user_line
        return self.user_line or self.library_line

    @property
    def place(self) -> str:
        """Module or parameter, as a reader would name it."""
        if self.parameter:
            return self.parameter
        if self.phase == "optimizer":
            return "the optimizer's step"
        if self.module is None:
            return "no module (the step's own code)"
        kind = f" ({self.module_class})" if self.module and self.module_class else ""
        return f"{self.module or self.module_class}{kind}"

    def __repr__(self) -> str:
        return f"{self.index} {self.op}, {self.phase}, in {self.place}: " + (
            tensor_words(self) or self.making or "no values"
        )


@dataclass(frozen=True, slots=True)
class TracedLink:
    """One tensor on the way to an operation.

    Attributes
    ----------
    index
        The operation that made it; -1 when it existed before the step.
    words
        What made it, or what it is called.
    dtype, shape, low, high, nans, infs
        As those of `TracedOp`.

    Examples
    --------
    >>> from ftlab.records.trace import TracedLink
    >>> TracedLink(-1, "in parameter head.weight", "float16", (2,), -1.0, 60000.0)
    float16[2], -1 to 6e+04 in parameter head.weight
    """

    index: int
    words: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    nans: int = 0
    infs: int = 0

    def __repr__(self) -> str:
        return f"{tensor_words(self)} {self.words}".strip()


@dataclass(frozen=True, slots=True)
class Trace:
    """What the replay of an anomalous step has seen.

    Attributes
    ----------
    step, micro_batch
        Of the run, both from 0.
    ops
        All operations up to the step's end, in order.
    culprit
        Index of the operation that the anomaly begins with; -1 if that is unknown.
    headline, text
        What was born and where, in one line; and all that the debugger said.
    report
        The same as values; see `ftlab.replay.stops.report.PauseReport`.
    sources
        Names of tensors that existed before the step; see `TracedOp.parents`.
    chain
        What led to the culprit, the nearest first.
    batch_text, source
        The batch's words, and the text around the culprit's lines.
    """

    step: int
    micro_batch: int
    ops: tuple[TracedOp, ...]
    culprit: int = -1
    headline: str = ""
    text: str = ""
    report: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    chain: tuple[TracedLink, ...] = ()
    batch_text: Listing[SampleText] = field(default_factory=Listing)
    source: Listing[Excerpt] = field(default_factory=Listing)

    def __repr__(self) -> str:
        return f"Trace(step {self.step}, {len(self.ops)} operations): {self.headline}"

    @property
    def title(self) -> str:
        """What happened, and when."""
        return f"Step {self.step}, micro-batch {self.micro_batch}: {self.headline}"


def tensor_words(of: TracedOp | TracedLink) -> str:
    """Write dtype, shape and range of a tensor; ``""`` where it is not known."""
    if not of.dtype:
        return ""
    parts = [f"{of.dtype}[{', '.join(map(str, of.shape))}]"]
    infinite = of.low == of.high and of.infs != 0
    if of.low is not None and of.high is not None and not infinite:
        parts.append(f"{of.low + 0.0:.3g} to {of.high + 0.0:.3g}")
    counts = ((of.nans, "NaN"), (of.infs, "Inf"))
    return ", ".join([*parts, *(_some(many, word) for many, word in counts if many)])


def _some(many: int, word: str) -> str:
    return word if many < 0 else f"{many:,} {word}"
