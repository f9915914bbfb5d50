"""The reason that the graph is cut: where it was seen, and where it must be."""

import re
from collections.abc import Sequence

from ftlab.records.finding import Place
from ftlab.records.name_words import short_name
from ftlab.records.names import NameRecord
from ftlab.rules.reasons.flow import PACKED, cause_of, cuts_of, extra_places, fix_of
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.runlog.run import Run

CUTS = 64
"""Modules that a finding names at most."""


def measured_cut(run: Run, missing: Missing) -> Reason | None:
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


def checkpointed(run: Run) -> bool:
    """Tell whether gradient checkpointing is on, in its reentrant form."""
    model = run.facts.model
    reentrant = model.get("checkpoint_reentrant") is True
    return bool(model.get("gradient_checkpointing")) and reentrant


def lowest_layers(run: Run, missing: Missing) -> Reason | None:
    """Tell whether the lowest layers, and only those, have no gradient."""
    lost, reached = _blocks(missing.lost), _blocks(missing.reached)
    if not lost or not missing.reached or set(lost) & set(reached):
        return None
    if reached and max(map(_index, lost)) > min(map(_index, reached)):
        return None
    top = max(lost, key=_index)
    place = Place("module", lost[top])
    where = short_name(place.name)
    if checkpointed(run):
        return _reentrant(run, place)
    return Reason(
        "graph-cut",
        f"The graph is cut at the output of {where} or just above it: no tensor up to "
        "there received a gradient, every recorded one above did. A detach, a "
        "no_grad block, a hand-written reentrant checkpoint whose input needs no "
        "gradient, and an op without a backward all look like this.",
        f"Check how the output of {where} is used: return the tensor itself and detach "
        "only copies; use checkpoint(..., use_reentrant=False).",
        (place,),
    )


def _bypass(run: Run) -> str:
    hook = run.facts.model.get("input_requires_grad_hook") is True
    return (
        " A hook makes the embedding's output require a gradient, but the input did "
        "not pass through it (inputs_embeds, a soft prompt)."
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
