"""What a stop of the debugger says, in plain values and in text that never varies."""

from dataclasses import dataclass

from ftlab.replay.stops.spans import TokenSpan
from ftlab.replay.tracing.site import Site

WIDTH = 9
NEXT = "resume() takes this step as it is: fix the cause and back() first, or abort()"
NEXT_UPDATE = "resume() takes this update as it is; abort() restores the weights"
NEXT_BEHIND = "resume() returns to the stop in the present; nothing here is taken"
_IN_UPDATE = ("optimizer", "state")
_ENDS = {"finished": "is finished", "aborted": "was aborted", "failed": "has failed"}


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """What there is to know of one tensor without holding it.

    Attributes
    ----------
    low, high
        The smallest and largest finite value; ``None`` when there is none.
    nans, infs
        Counts of non-finite values.

    Examples
    --------
    >>> from ftlab.replay.stops.report import TensorFacts
    >>> TensorFacts("self", "float32", (2, 3), -1.0, 2.3456, nans=1, infs=0)
    self: float32[2, 3], -1 to 2.35, 1 NaN
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    low: float | None
    high: float | None
    nans: int = 0
    infs: int = 0

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        parts = [f"{self.dtype}[{shape}]"]
        if self.low is not None and self.high is not None:
            parts.append(f"{digits(self.low)} to {digits(self.high)}")
        parts += [f"{self.nans:,} NaN"] if self.nans else []
        parts += [f"{self.infs:,} Inf"] if self.infs else []
        return (f"{self.name}: " if self.name else "") + ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Link:
    """One tensor on the way to an anomaly.

    Attributes
    ----------
    facts
        Its range.
    site
        The operation that made it; ``None`` when it existed before the step.
    name
        What it is called, when it existed before.
    """

    facts: TensorFacts
    site: Site | None
    name: str = ""

    def __repr__(self) -> str:
        if self.site is None:
            return f"{self.facts} in {self.name}"
        lines = (self.site.user_line, self.site.library_line)
        # Within a module the user's line is that of the model's call, for all the same.
        line = lines[1] or lines[0] if self.site.module else lines[0] or lines[1]
        at = f", {line}" if line else ""
        words = module_words(self.site)
        return f"{self.facts} by {self.site.op} {self.site.index}, {words}{at}"


@dataclass(frozen=True, slots=True)
class PauseReport:
    """Where a run stands: paused at a place, or over.

    Attributes
    ----------
    state
        ``paused``, ``finished`` or ``aborted``.
    reason
        Why it stopped: ``anomaly``, ``breakpoint``, ``step``, ``back``, ``interrupt``,
        or ``""``.
    step, micro_batch
        Attempted optimizer steps so far, and micro-batches of this one; both from 0.
    condition
        What a breakpoint was met by, in words.
    behind
        How many optimizer steps before the present one the stop is, where the run has
        gone back to an earlier call of the step.
    what
        ``nan`` or ``inf``; ``""`` when the stop is no anomaly.
    kind
        Where it was born: ``module``, ``outside modules``, ``backward``, ``parameter``,
        ``buffer``, ``batch``, ``gradient``, ``optimizer`` (a weight in its update),
        ``state`` (of the optimizer), or ``unknown``.
    name
        The parameter, buffer, gradient or entry of the batch that held it already; the
        parameter whose update or state went wrong.
    site
        The operation; ``None`` when the stop is at the end of a micro-batch.
    inputs, outputs
        The operation's tensors.
    spans
        Samples and tokens that the non-finite outputs belong to.
    chain
        Where the inputs came from, back to the first that is in order.
    parameters
        Parameters whose gradient is non-finite.
    loss
        What backward was called on.
    cause
        One sentence, where the cause can be told from the operation and its inputs.
    trial
        What came of the change that was tried last.
    notes
        What else must be known, a replay that differs for example.
    replayable
        Whether `step` and `back` work here.
    """

    state: str
    reason: str = ""
    step: int = 0
    micro_batch: int = 0
    what: str = ""
    kind: str = ""
    name: str = ""
    site: Site | None = None
    operations: int = 0
    inputs: tuple[TensorFacts, ...] = ()
    outputs: tuple[TensorFacts, ...] = ()
    spans: tuple[TokenSpan, ...] = ()
    chain: tuple[Link, ...] = ()
    parameters: tuple[str, ...] = ()
    loss: float | None = None
    cause: str = ""
    trial: str = ""
    notes: tuple[str, ...] = ()
    replayable: bool = True
    condition: str = ""
    behind: int | None = None

    @property
    def module(self) -> str | None:
        """Path of the innermost module, ``None`` outside of all modules."""
        return self.site.module if self.site else None

    @property
    def op(self) -> str:
        """Full name of the operation."""
        return self.site.op if self.site else ""

    @property
    def phase(self) -> str:
        """``forward``, ``recompute``, ``backward`` or ``optimizer``."""
        return self.site.phase if self.site else ""

    @property
    def user_line(self) -> str:
        """Innermost source line outside installed packages."""
        return self.site.user_line if self.site else ""

    @property
    def library_line(self) -> str:
        """Innermost source line outside torch."""
        return self.site.library_line if self.site else ""

    def __repr__(self) -> str:
        rows = [(label, text) for label, text in self._rows() if text]
        return "\n".join([self.headline(), *(_row(*row) for row in rows)])

    def headline(self) -> str:
        """Say in one line where the run stands."""
        if self.state != "paused":
            verb = _ENDS.get(self.state, f"is {self.state}")
            return f"The run {verb}, after {_steps(self.step)}."
        place = f"step {self.step}, micro-batch {self.micro_batch}"
        if self.behind is not None:
            behind = f"{_steps(self.behind)} back" if self.behind else "an earlier one"
            return f"Looking at {place}, {behind}; the run waits at the present."
        if self.reason != "anomaly":
            where = "" if self.site else ", at the end of the micro-batch"
            at = f", {self.phase} of {module_words(self.site)}" if self.site else ""
            why = f": {self.condition}{at}" if self.condition else ""
            return f"Paused at {place}{where} ({self.reason}){why}."
        word = "NaN" if self.what == "nan" else "Inf"
        if self.kind in _IN_UPDATE:
            place = f"{place}, in the optimizer's step"
        elif self.replayable:
            place = f"{place}, before the weights change"
        return f"Paused at {place}: {word} {self._born()}."

    def _born(self) -> str:
        inside = module_words(self.site)
        match self.kind:
            case "parameter" | "buffer":
                return f"was already in {self.kind} {self.name}"
            case "gradient":
                return f"was already in the gradient of {self.name}"
            case "batch":
                return f"came in with the batch, in {self.name}"
            case "backward":
                return f"first appeared in backward, in {inside}"
            case "optimizer":
                return f"first appeared in the update of {self.name}"
            case "state":
                return f"first appeared in the optimizer's state of {self.name}"
            case "unknown":
                return "was seen, but not where it first appeared"
        return f"first appeared in {inside}"

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("cause", self.cause)]
        if self.site is not None:
            rows += site_rows(self.site, self.operations)
        rows += [("input", repr(facts)) for facts in self.inputs]
        rows += [("output", repr(facts)) for facts in self.outputs]
        rows.append(("tokens", "; ".join(map(repr, self.spans))))
        rows += [("from", repr(link)) for link in self.chain]
        rows.append(("loss", "" if self.loss is None else digits(self.loss)))
        rows.append(("gradients", _listed(self.parameters)))
        rows.append(("trial", self.trial))
        rows += [("note", note) for note in self.notes]
        if self.behind is not None:
            rows.append(("next", NEXT_BEHIND))
        if self.reason == "anomaly" and self.replayable:
            rows.append(("next", NEXT_UPDATE if self.kind in _IN_UPDATE else NEXT))
        return rows


def site_rows(site: Site, operations: int) -> list[tuple[str, str]]:
    """Return the rows of a report that say where an operation is."""
    node = f", node {site.node}" if site.node else ""
    rows = [
        ("op", f"{site.op}, {site.phase}{node}, {site.index} of {operations}"),
        ("module", module_words(site)),
    ]
    if site.forward is not None:  # what made it; the line is then that of backward()
        made = site.forward
        line = made.user_line or made.library_line
        rows.append(("forward", f"{made.op}, {made.index}, at {line}"))
    library = site.library_line if site.library_line != site.user_line else ""
    return [*rows, ("line", site.user_line), ("library", library)]


def module_words(site: Site | None) -> str:
    """Name a module as a reader would."""
    if site is None or site.module is None:
        return "no module (the step's own code)"
    kind = f" ({site.module_class})" if site.module else ""
    return f"{site.module or site.module_class}{kind}"


def digits(value: float) -> str:
    """Write a number with three significant digits, zero without a sign.

    Examples
    --------
    >>> from ftlab.replay.stops.report import digits
    >>> digits(-0.0), digits(65504.0), digits(0.00012345)
    ('0', '6.55e+04', '0.000123')
    """
    return f"{value + 0.0:.3g}"


def _steps(count: int) -> str:
    return f"{count} optimizer step" + ("" if count == 1 else "s")


def _listed(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"non-finite in {', '.join(names[:3])}{more}"


def _row(label: str, text: str) -> str:
    return f"  {label:<{WIDTH}} {text}"
