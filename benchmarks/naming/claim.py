"""What a tool said about an anomaly, in words that all tools share, and its verdict."""

from dataclasses import dataclass, field
from typing import Any

from benchmarks.anomalies.case import Expected

OUTSIDE = "(outside of all modules)"
"""The module of an operation that no module of the model computes."""

EXACT, PARTLY, WRONGLY, SILENT = "exactly", "partly", "wrongly", "not at all"
ASPECTS = ("found", "phase", "op", "module", "line")

SAME = {
    "truediv": {"div"},
    "to": {"tocopy"},
    "half": {"tocopy"},
    "float": {"tocopy"},
    "layernorm": {"nativelayernorm"},
    "softmax": {"softmax", "softmaxbackwarddata"},
    "matmul": {"mm", "bmm", "addmm"},
    "linear": {"mm", "addmm"},
    "addmm": {"addmm", "mm"},
    "conv1d": {"addmm"},
    "nllloss": {"nlllossforward"},
    "matmul4bit": {"gemm4bit"},
    "scaleddotproductattention": {"scaleddotproductflashattentionforcpu"},
}
"""Names that autograd and Python give to an operation, beside its own."""

HOLDS = {
    "crossentropy": {"nlllossforward", "logsoftmax"},
    "rmsnorm": {"rsqrt", "mul", "pow", "mean"},
    "smoothl1loss": {"mseloss"},
}
"""Functions that an operation is a part of."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a tool said. ``None`` and nothing stand for what it did not say.

    Attributes
    ----------
    step, micro_batch
        Where it stopped the run.
    phase
        ``forward``, ``backward`` or ``optimizer``.
    op
        The operation: ``"aten.div.Tensor"``, ``"SqrtBackward0"`` or ``"rsqrt"``.
    module
        Path of a module, or `OUTSIDE`.
    lines
        The lines that it gives as the place, ``"path:12 function"``.
    frames
        Further lines, such as a stack.
    text
        What it said, shortened.
    """

    step: int | None = None
    micro_batch: int | None = None
    phase: str | None = None
    op: str | None = None
    module: str | None = None
    lines: tuple[str, ...] = ()
    frames: tuple[str, ...] = field(default=(), repr=False)
    text: str = ""


def judge(claim: Claim | None, expected: Expected) -> dict[str, str]:
    """Compare a claim with the truth, aspect by aspect.

    Examples
    --------
    >>> from benchmarks.anomalies.registry import load
    >>> from benchmarks.naming.claim import Claim, judge
    >>> truth = load("norm-of-dead-queries").expected
    >>> judge(Claim(module="model.layers.1.self_attn"), truth)["module"]
    'partly'
    """
    if claim is None:
        return dict.fromkeys(ASPECTS, SILENT)
    return {
        "found": _found(claim, expected),
        "phase": _same(claim.phase, expected.phase),
        "op": _op(claim.op, expected),
        "module": _module(claim.module, expected.module),
        "line": _line(claim, expected),
    }


def _same(said: Any, true: Any) -> str:
    if said is None:
        return SILENT
    return EXACT if said == true else WRONGLY


def _found(claim: Claim, expected: Expected) -> str:
    """Call a stop in the right micro-batch exact, later partly, earlier wrong."""
    if claim.step is None:
        return PARTLY
    micro = claim.micro_batch
    at = (claim.step, expected.micro_batch if micro is None else micro)
    true = (expected.step, expected.micro_batch)
    if at == true:
        return EXACT
    return PARTLY if at > true else WRONGLY


def _op(said: str | None, expected: Expected) -> str:
    """Judge an op: a node of backward stands for the op whose derivative it is."""
    if said is None:
        return SILENT
    if said in expected.op:
        return EXACT
    full = said.count(".") > 0
    backward = "Backward" in said
    truths = expected.forward if backward and expected.forward else expected.op
    name, names = _bare(said), {_bare(op) for op in truths}
    if names & ({name} | SAME.get(name, set())):
        return PARTLY if full or (backward and expected.phase == "forward") else EXACT
    within = HOLDS.get(name, set())
    also = {_bare(op) for op in expected.forward}
    if names & within or also & ({name} | SAME.get(name, set())):
        return PARTLY
    return WRONGLY


def _bare(op: str) -> str:
    """Strip namespace, overload, underscores and the like: ``mul_`` and ``Mul0``."""
    parts = op.split(".")
    name = parts[1] if len(parts) > 2 else parts[0]
    name = name.partition("Backward")[0]
    return name.replace("_", "").lower()


def _module(said: str | None, true: str | None) -> str:
    """Judge a module: one that holds the right one, or that it holds, is partly so."""
    if said is None:
        return SILENT
    place = OUTSIDE if true is None else true
    if said == place:
        return EXACT
    if OUTSIDE in (said, place):
        return WRONGLY
    near = f"{place}.".startswith(f"{said}.") or f"{said}.".startswith(f"{place}.")
    return PARTLY if near and said else WRONGLY


def _line(claim: Claim, expected: Expected) -> str:
    """Judge a line: one that is only somewhere in a stack is partly right."""
    if any(expected.line.is_at(place) for place in claim.lines):
        return EXACT
    if any(expected.line.is_at(place) for place in claim.frames):
        return PARTLY
    return WRONGLY if claim.lines or claim.frames else SILENT
