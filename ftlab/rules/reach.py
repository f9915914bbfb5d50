"""Why a gradient did not arrive: what the run proves, and what it leaves open.

`reason_of` tries the explanations from the most to the least specific and stops at the
first one that the records prove. When none holds it says so and names the candidates;
a guess is never given as the reason.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ftlab.records.finding import Place
from ftlab.records.name_words import short_name
from ftlab.records.names import NameRecord
from ftlab.rules.adapter_states import State, passes_of
from ftlab.rules.flow import PACKED, cause_of, cuts_of, extra_places, fix_of
from ftlab.rules.tensors import text_of
from ftlab.rules.words import listed
from ftlab.runlog.run import Run

CUTS = 64
"""Modules that a finding names at most."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Trainable tensors that received nothing, and the ones that did.

    Attributes
    ----------
    none
        Whether ``.grad`` was ``None``; otherwise it was exactly 0.
    lost, reached
        The tensors without and with a gradient, in the model's order.
    """

    none: bool
    lost: Sequence[NameRecord]
    reached: Sequence[NameRecord]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why; ``kind`` is stable and short, ``"unknown"`` when nothing is proven."""

    kind: str
    cause: str
    fix: str
    places: tuple[Place, ...] = ()


def reason_of(run: Run, missing: Missing) -> Reason:
    """Return the first reason that the run proves."""
    tests = _NONE if missing.none else _ZERO
    found = (test(run, missing) for test in tests)
    return next((reason for reason in found if reason is not None), _unknown(missing))


def _zeroed_too_late(run: Run, missing: Missing) -> Reason | None:
    """Tell whether zero_grad runs between backward and the optimizer's step."""
    if missing.reached:
        return None
    state = ""
    for entry in run.ledger:
        if entry.op == "backward":
            state = "backward"
        elif entry.op == "zero_grad" and state == "backward":
            state = "zeroed"
        elif entry.op in ("step", "skip"):
            if state == "zeroed":
                return Reason(
                    "zero-grad-before-step",
                    "zero_grad was called between backward and the optimizer's step.",
                    "Call zero_grad before backward or after the optimizer's step.",
                    (Place("call", "zero_grad"),),
                )
            state = ""
    return None


def _no_backward(run: Run, missing: Missing) -> Reason | None:
    ops = {entry.op for entry in run.ledger}
    if missing.reached or "step" not in ops or "backward" in ops:
        return None
    return Reason(
        "no-backward",
        "The optimizer stepped, but backward was not called.",
        "Call loss.backward() before optimizer.step().",
        (Place("call", "backward"),),
    )


def _no_grad_forward(run: Run, missing: Missing) -> Reason | None:
    """Tell whether every forward of the model ran without a graph."""
    if missing.reached:
        return None
    forwards = [
        e for e in run.ledger if e.op == "forward" and "grad_enabled" in e.detail
    ]
    if not forwards or any(e.detail["grad_enabled"] for e in forwards):
        return None
    return Reason(
        "forward-without-grad",
        "Every forward of the model ran with gradients switched off.",
        "Take the training forward out of torch.no_grad() / inference_mode().",
        (Place("call", "forward"),),
    )


def _idle_adapter(run: Run, missing: Missing) -> Reason | None:
    """All tensors of one adapter, and nothing else, got none."""
    lost = {text_of(name, "adapter") for name in missing.lost}
    reached = {text_of(name, "adapter") for name in missing.reached}
    if len(lost) != 1 or lost & (reached | {""}):
        return None
    adapter = lost.pop()
    forwards = [state for each in passes_of(run) for state in each.forwards]
    state = _seen_state(forwards, adapter) or _state_of(run, adapter)
    if forwards and not state:  # it took part: the graph is lost elsewhere
        return None
    others = f"; adapter {listed(sorted(reached - {''}))} did" if reached - {""} else ""
    if not others and not state and (_checkpointed(run) or _cut(run, missing)):
        return None
    unknown = (
        "Whether it is disabled, merged or not the active one, or the graph is cut "
        "above all its layers, the run does not tell."
    )
    return Reason(
        "adapter-not-in-forward",
        f"No tensor of adapter {adapter!r} took part in the forward pass{others}. "
        + (state or unknown),
        f"Look at model.active_adapters, call model.set_adapter({adapter!r}), "
        "model.enable_adapter_layers(), or unmerge_adapter() after an evaluation.",
        (Place("object", f"adapter {adapter}"),),
    )


def _seen_state(forwards: Sequence[State], adapter: str) -> str:
    """Say why an adapter is out of every training forward, as its layers were read."""
    if forwards and all(state.merged for state in forwards):
        return "It was merged into the base weights, which are used instead."
    if forwards and all(state.disabled for state in forwards):
        return "Its layers were disabled."
    if forwards and not any(adapter in state.active for state in forwards):
        active = sorted(set().union(*(state.active for state in forwards)))
        return f"Another adapter was the active one: {listed(active)}."
    return ""


def _state_of(run: Run, adapter: str) -> str:
    """Say why an adapter is out of the forward pass, where it was recorded."""
    pairs = [
        n for n in run.names("adapters").values() if n.meta.get("adapter") == adapter
    ]
    if pairs and all(pair.meta.get("merged") is True for pair in pairs):
        return "It is merged into the base weights, which are used instead."
    if pairs and not any(pair.meta.get("active", True) for pair in pairs):
        return "It is disabled, or another adapter is the active one."
    return ""


def _measured_cut(run: Run, missing: Missing) -> Reason | None:
    """Tell where tensors were seen to lose their graph."""
    cuts = cuts_of(run)
    if not cuts or not missing.lost:
        return None
    first = cuts[0]
    kind = {"checkpoint": "checkpoint-without-input-grad"}.get(first.kind, "graph-cut")
    if first.module_class in PACKED:
        kind = "packed-4bit"
    reentrant = first.kind == "checkpoint"
    bypass = _bypass(run) if reentrant else ""
    return Reason(
        kind,
        cause_of(first) + bypass,
        fix_of(first),
        (*(cut.place for cut in cuts[:CUTS]), *extra_places(first)),
    )


def _checkpointed(run: Run) -> bool:
    model = run.facts.model
    reentrant = model.get("checkpoint_reentrant") is True
    return bool(model.get("gradient_checkpointing")) and reentrant


def _cut(run: Run, missing: Missing) -> Reason | None:
    """Tell whether the lowest layers, and only those, have no gradient."""
    lost, reached = _blocks(missing.lost), _blocks(missing.reached)
    if not lost or not missing.reached or set(lost) & set(reached):
        return None
    if reached and max(map(_index, lost)) > min(map(_index, reached)):
        return None
    top = max(lost, key=_index)
    place = Place("module", lost[top])
    where = short_name(place.name)
    if _checkpointed(run):
        return _reentrant(run, place)
    return Reason(
        "graph-cut",
        f"The graph is cut at the output of {where} or just above it: no tensor up to "
        "there received a gradient, every recorded one above did. A detach, a "
        "no_grad block, a hand-written reentrant checkpoint whose input needs no "
        "gradient, and an op without a backward all look like this.",
        f"Look at what is done with the output of {where}: return the tensor "
        "itself and detach only copies; use checkpoint(..., use_reentrant=False).",
        (place,),
    )


def _bypass(run: Run) -> str:
    hook = run.facts.model.get("input_requires_grad_hook") is True
    return (
        " The hook that makes the embedding's output require a gradient is there, but "
        "the input did not come through it (inputs_embeds, a soft prompt)."
        if hook
        else ""
    )


def _reentrant(run: Run, place: Place) -> Reason:
    return Reason(
        "checkpoint-without-input-grad",
        "Gradient checkpointing is reentrant and the input of the checkpointed layers "
        "needs no gradient, so their outputs have no graph." + _bypass(run),
        'Pass gradient_checkpointing_kwargs={"use_reentrant": False}, or call '
        "model.enable_input_require_grads(); with inputs_embeds, "
        "inputs_embeds.requires_grad_(True).",
        (place,),
    )


def _blocks(names: Sequence[NameRecord]) -> dict[str, str]:
    """Map the numbered layers of ``names`` to the path of their module."""
    found = {}
    for name in names:
        match = re.search(rf"(?:^|\.){re.escape(name.layer)}(?=\.|$)", name.name)
        if name.layer and _index(name.layer) >= 0 and match:
            found[name.layer] = name.name[: match.end()]
    return found


def _index(layer: str) -> int:
    tail = layer.rpartition(".")[2]
    return int(tail) if tail.isdigit() else -1


def _half_precision(run: Run, missing: Missing) -> Reason | None:
    if run.facts.training.get("scaler") is not False:
        return None
    if any(name.dtype.rpartition(".")[2] != "float16" for name in missing.lost):
        return None
    return Reason(
        "float16-without-scaler",
        "These tensors are float16 and no GradScaler is used: gradients below 3e-8 "
        "are exactly 0 there.",
        "Train in bf16, or keep the weights in float32 under autocast with a scaler.",
    )


def _no_labels(run: Run, missing: Missing) -> Reason | None:
    labels = run.steps["labels"]
    if missing.reached or not len(labels) or not (labels == 0).all():
        return None
    return Reason(
        "no-labels",
        "No label counted in the loss at any step: all of them are -100.",
        "Look at ftlab.tokens(batch=..., tokenizer=...): the label mask covers all.",
        (Place("data", "labels"),),
    )


def _unknown(missing: Missing) -> Reason:
    if missing.none:
        return Reason(
            "unknown",
            "They took no part in what the loss was computed from, or the graph is cut "
            "on the way. The run does not tell which.",
            "Do they belong to the task (an unused head, a pooler)? Then freeze them. "
            "Otherwise look for detach, .data, no_grad or .item() on their way.",
        )
    return Reason(
        "unknown",
        "They are in the graph, but something multiplies their gradient by exactly 0: "
        "a dead ReLU, a mask, a gate or a scaling of 0. The run does not tell which.",
        "Look at the output of these modules: is it 0, saturated or masked everywhere?",
    )


Test = Callable[[Run, Missing], Reason | None]
_NONE: tuple[Test, ...] = (
    _zeroed_too_late,
    _no_backward,
    _no_grad_forward,
    _measured_cut,
    _idle_adapter,
    _cut,
)
_ZERO: tuple[Test, ...] = (_no_labels, _half_precision)
