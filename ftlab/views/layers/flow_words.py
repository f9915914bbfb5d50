"""What a gradient's flow comes to, in words."""

import itertools
import math
import re
from collections.abc import Iterable, Sequence

from ftlab.records.flow import Flow, FlowBlock, FlowZero, StopKind
from ftlab.views.style import count, number

WHY: dict[StopKind, str] = {
    "no_grad": "gradients are switched off here",
    "detach": "detach() takes the values out of the graph",
    "data": ".data hands on values without their graph",
    "python": "the values leave torch here, and come back without a graph",
    "integer": "indices and truth values have no derivative",
    "new tensor": "a new tensor is made of the values, without their graph",
    "checkpoint": "no input of this reentrant checkpoint requires a gradient",
    "function": "this custom function marks its result as not differentiable",
    "operation": "the result has no graph although what was given has one",
}

DO: dict[StopKind, str] = {
    "no_grad": "Take what is trained out of no_grad, inference_mode or "
    "set_grad_enabled(False).",
    "detach": "Take the detach() away, or detach only what is logged.",
    "data": "Use the tensor itself in place of .data; write to weights under no_grad "
    "only between steps.",
    "python": "Stay in torch: replace item(), tolist() and numpy() on the way to the "
    "loss by torch's own functions.",
    "integer": "Put something differentiable in its place: softmax for argmax, a "
    "straight-through estimator for rounding, expected values for samples.",
    "new tensor": "Use the tensor itself, or clone(), stack() and cat(): tensor(), "
    "new_tensor() and Parameter() copy values alone.",
    "checkpoint": 'Pass gradient_checkpointing_kwargs={"use_reentrant": False}, or '
    "call model.enable_input_require_grads().",
    "function": "Return its result as differentiable and write its backward.",
    "operation": "Replace the operation by one that has a derivative.",
}


def headline(flow: Flow) -> str:
    """Say how much the loss reaches."""
    cut = {name for each in flow.cuts for name in each.parameters}
    if cut:
        of = f"{len(cut)} of {count(flow.trained, 'trained parameter')}"
        places = "1 place" if len(flow.cuts) == 1 else f"{len(flow.cuts)} places"
        return f"{of} are cut off from the loss, at {places}"
    told = unexplained_zeros(flow)
    if told and not flow.failed:
        none = sum(len(each.parameters) for each in told)
        of = f"{none} of {count(flow.trained, 'trained parameter')}"
        nothing = all(each.none for each in told)
        return f"{of} get {'no gradient' if nothing else _EXACTLY_0}"
    if flow.failed:
        return "backward cannot be run"
    if flow.unexplained:
        of = f"{len(flow.unexplained)} of {count(flow.trained, 'trained parameter')}"
        return f"{of} get no gradient"
    if not flow.trained:
        return "no parameter is trained"
    used = flow.trained - len(flow.unused)
    if flow.unused:
        of = f"{used} of {count(flow.trained, 'trained parameter')}"
        return f"the loss reaches {of}; the others have no part in it"
    if not used:
        return "no trained parameter has a part in this loss"
    every = "all " if used > 1 else "the "
    return f"the loss reaches {every}{count(used, 'trained parameter')}"


def unexplained_zeros(flow: Flow) -> list[FlowZero]:
    """Return the zeros for which no weight that is still zero is the reason."""
    return [each for each in flow.zeros if not each.zeros]


def sentences(flow: Flow) -> list[str]:
    """Say what was found, in order of weight."""
    said = []
    if flow.failed:
        said.append(f"backward raises {flow.failed}")
    elif math.isnan(flow.loss):
        said.append("the loss is NaN: are all labels of the batch -100?")
    for cut in flow.cuts:
        inside = cut.blocks if cut.kind == "checkpoint" else cut.modules
        said.append(f"cut at {cut.where}{_in(inside)}: {WHY[cut.kind]} ({cut.op})")
        said.append(f"  behind it: {places(flow, cut.parameters)}")
        said.append(f"  {DO[cut.kind]}")
    for zero in unexplained_zeros(flow):
        said += _of_zero(flow, zero)
    return [*said, *_waiting(flow), *_beside(flow), *flow.notes]


def _waiting(flow: Flow) -> list[str]:
    """Say what gets nothing as long as a weight is zero."""
    waiting = [each for each in flow.zeros if each.zeros]
    if not waiting:
        return []
    names = {name for each in waiting for name in each.parameters}
    verb = "has" if len(names) == 1 else "have"
    return [
        f"{count(len(names), 'parameter')} {verb} a gradient of exactly 0 for now: a "
        f"weight that follows is still all zeros ({waiting[0].zeros}), as before the "
        "first step of LoRA"
    ]


def _beside(flow: Flow) -> list[str]:
    """Say what has no part in the loss, and what stops beside the way."""
    said = []
    if flow.unexplained:
        said.append(f"without a gradient: {places(flow, flow.unexplained)}")
    if flow.unused:
        said.append(f"without a part in this loss: {places(flow, flow.unused)}")
    for side in flow.sides:
        said.append(
            f"beside the way, at {side.where}: {WHY[side.kind]} ({side.op}); all that "
            "is behind it is reached by other ways"
        )
    return said


def _of_zero(flow: Flow, zero: FlowZero) -> list[str]:
    """Say what makes gradients zero, and what to do."""
    behind = f"  behind it: {places(flow, zero.parameters)}"
    if not zero.op:
        first = "what comes back cancels to exactly 0, or a hook makes it 0"
        return [first, behind, "  Look for terms that are equal, and for hooks."]
    at = f"{zero.op}" + (f" at {zero.line}" if zero.line else "")
    at += _in((zero.module,))
    if zero.none:
        return [f"the backward of {at} hands on no gradient", behind, _RETURN]
    stepped = any(each in zero.op.lower() for each in STEPPED)
    do = DO["integer"] if stepped else _LOOK
    return [f"the backward of {at} hands on zeros", behind, f"  {do}"]


STEPPED = ("round", "sign", "floor", "ceil", "trunc", "heaviside", "bernoulli", "frac")
"""Functions of which no slope is anything but 0."""
_EXACTLY_0 = "a gradient that is exactly 0"
_RETURN = "  Return a gradient for each input from its backward."
_LOOK = (
    "See what its result is multiplied with, whether it is saturated, and whether "
    "anything of it is left in the loss."
)


def places(flow: Flow, names: Sequence[str]) -> str:
    """Name the blocks that some parameters are in, and how many they are."""
    wanted = set(names)
    held = [each.name for each in flow.blocks if wanted.intersection(each.names)]
    if not held:
        shown = ", ".join(names[:3])
        return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
    return f"{count(len(names), 'parameter')} of {', '.join(runs(held[::-1]))}"


def runs(names: Iterable[str]) -> list[str]:
    """Write blocks that follow each other as one: ``layers.0 to layers.39``.

    Examples
    --------
    >>> from ftlab.views.layers.flow_words import runs
    >>> runs(["embed", "layers.0", "layers.1", "layers.2", "layers.7"])
    ['embed', 'layers.0 to 2', 'layers.7']
    """
    found: list[str] = []
    for stem, group in itertools.groupby(_numbered(names), key=lambda e: e[0]):
        numbers = [number for _, number in group]
        at = 0
        while at < len(numbers):
            end = at
            while end + 1 < len(numbers) and numbers[end + 1] - numbers[end] == 1:
                end += 1
            first, last = numbers[at], numbers[end]
            if first < 0:
                found.append(stem)
            else:
                found.append(f"{stem}{first}" + (f" to {last}" if last > first else ""))
            at = end + 1
    return found


def _numbered(names: Iterable[str]) -> list[tuple[str, int]]:
    parted = [re.fullmatch(r"(.*\.)(\d+)", name) for name in names]
    return [
        (name, -2) if match is None else (match[1], int(match[2]))
        for name, match in zip(names, parted, strict=True)
    ]


def folded(flow: Flow, least: int = 4) -> list[list[FlowBlock]]:
    """Group neighbours that look alike; groups of fewer than ``least`` stay apart."""
    cut = {each.blocks[0] for each in flow.cuts if len(each.blocks) == 1}

    def kind(block: FlowBlock) -> tuple[object, ...]:
        stem = re.sub(r"\d+$", "", block.name)
        whole = block.reached == block.trained
        own = block.name if block.name in cut else ""
        return (stem, whole, block.reached == 0, block.trained == 0, own)

    groups = [list(group) for _, group in itertools.groupby(flow.blocks, kind)]
    return [
        part
        for group in groups
        for part in ([group] if len(group) >= least else [[each] for each in group])
    ]


def state(block: FlowBlock) -> str:
    """Say what of a block's parameters is reached."""
    if not block.trained:
        return "nothing trained"
    if block.reached == block.trained:
        return f"{block.trained} reached"
    return f"{block.reached} of {block.trained} reached"


def span(values: Sequence[float]) -> str:
    """Write the range of some norms."""
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _in(modules: Sequence[str]) -> str:
    named = [each for each in modules if each]
    if not named:
        return ""
    more = f" and {len(named) - 1} more" if len(named) > 1 else ""
    return f", in {named[0]}{more}"
