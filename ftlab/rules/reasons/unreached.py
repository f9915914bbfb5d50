"""The reason that the calls of modules show: bypassed, never called, or not used.

The probe `graph_flow` follows the calls of single steps; only modules whose parameters
got no gradient then have a row. See `ftlab.probes.graph.module_calls.Unreached`.
"""

from collections.abc import Sequence

from ftlab.records.finding import Place
from ftlab.records.name_words import short_name
from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.reasons.idle_tower import KIND as TOWER, idle_tower
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.rules.reasons.none_returned import none_returned
from ftlab.rules.reasons.stood_in import made_anew, of_another, of_copies, unreturned
from ftlab.rules.reasons.unreached_call import MODEL, Call, named, said
from ftlab.rules.words import listed
from ftlab.runlog.run import Run

TABLE = "unreached"

SEEN_LATE = frozenset({"unknown", "module-not-called", "output-not-used", TOWER})
"""Reasons that another batch may yet change: two tasks in turn, a tower for pictures.

The others are of the loop as a whole.
"""


def by_calls(run: Run, missing: Missing) -> Reason | None:
    """Return what the calls tell, where they tell it of every tensor without one."""
    calls = _calls_of(run)
    found = [_innermost(name, calls) for name in missing.lost]
    known = [call for call in found if call is not None]
    if not known or len(known) < len(found):
        return None
    kinds = [call.kind for call in known]
    # The lowest layer's input may need no gradient: nothing is kept there to prove it.
    taken = "weight-taken" in kinds and set(kinds) <= {"weight-taken", "not-called"}
    kind = "weight-taken" if taken else max(dict.fromkeys(kinds), key=kinds.count)
    chosen = list(dict.fromkeys(call for call in known if call.kind == kind))
    tower = idle_tower(missing, chosen) if kind == "not-called" else None
    return tower or _REASONS[kind](chosen)


def _calls_of(run: Run) -> list[Call]:
    """Return how modules were called at the latest step at which it was looked at."""
    if TABLE not in run.tables() or TABLE not in run.columns(TABLE):
        return []
    matrix, names = run.matrix(TABLE, TABLE).measured(), run.names(TABLE)
    last = matrix.known[-1] if len(matrix.known) else ()
    return [
        Call(
            names[row].name,
            text_of(names[row], "kind"),
            text_of(names[row], "to"),
            text_of(names[row], "class"),
            text_of(names[row], "function"),
        )
        for row, known in zip(matrix.ids.tolist(), last, strict=True)
        if known and row in names
    ]


def _innermost(name: NameRecord, calls: Sequence[Call]) -> Call | None:
    around = [call for call in calls if call.holds(name.name)]
    return max(around, key=lambda c: (c.name != MODEL, len(c.name)), default=None)


def _bypassed(calls: Sequence[Call]) -> Reason:
    first = calls[0]
    where, inside = said(first), short_name(first.to)
    whole = first.name == MODEL
    return Reason(
        "wrapper-bypassed" if whole else "module-bypassed",
        f"{where} itself was never called: {inside} inside it was called directly. "
        f"What {where} adds in its own forward (prompts, prefixes, a head) is skipped.",
        "Call model(...) in the loop, not an inner model (get_base_model(), "
        ".base_model, .module)."
        if whole
        else f"Call {where} itself, not {inside}.",
        (*named(calls), Place("module", first.to)),
    )


def _not_called(calls: Sequence[Call]) -> Reason:
    first = calls[0]
    if first.name == MODEL:
        return Reason(
            "model-not-called",
            "Neither the model nor any module in it was called between two optimizer "
            "steps: the loss is computed from something else.",
            "Call model(...) on each batch in the loop, and compute the loss from its "
            "output; look for an old copy of the model.",
            (Place("call", "model.forward"), Place("object", "loss")),
        )
    parts = listed([short_name(call.name) for call in calls], 3)
    one = len(calls) == 1
    around = "the model" if first.to == MODEL else short_name(first.to)
    layer = first.module_class if one else f"such as {first.module_class}"
    return Reason(
        "module-not-called",
        f"{parts} ({layer}) {'was' if one else 'were'} never called, although {around} "
        f"ran: the forward does not use {'it' if one else 'them'}, or uses the weight "
        "directly, bypassing the module and any adapter on it.",
        f"Check the forward of {around}: call the module, self.layer(x), not "
        "F.linear(x, self.layer.weight); switch off fused kernels that use the "
        "weights. Freeze a part that the task does not use.",
        (*named(calls), *([] if first.to == MODEL else [Place("module", first.to)])),
    )


def _taken(calls: Sequence[Call]) -> Reason:
    first = calls[0]
    around = "the model" if first.to == MODEL else short_name(first.to)
    parts = listed([short_name(call.name) for call in calls], 3)
    return Reason(
        "weight-taken-directly",
        f"{around} uses the weight of {short_name(first.name)} directly (its output "
        f"saves it for backward) and never calls the module: {parts} "
        f"({first.module_class}) and any adapter on it are bypassed.",
        f"In the forward of {around} call the module, self.layer(x), instead of "
        "F.linear(x, self.layer.weight); switch off the fused implementation, or put "
        "the adapter on what it calls.",
        (*named(calls), *([] if first.to == MODEL else [Place("module", first.to)])),
    )


def _unused(calls: Sequence[Call]) -> Reason:
    first = calls[0]
    if first.name == MODEL:
        return Reason(
            "loss-without-model",
            "The model ran and its output is in the graph, but no gradient came back: "
            "the loss is not computed from it, or only from a detached copy.",
            "Compute the loss from the model's own output; look for .detach(), .data, "
            ".item(), numpy() or argmax between the output and the loss.",
            (Place("object", "loss"), Place("call", "loss.backward")),
        )
    parts = listed([said(call) for call in calls], 3)
    return Reason(
        "output-not-used",
        f"{parts} ran and the output is in the graph, but no gradient came back: the "
        "loss does not depend on it, or only on a detached copy of it.",
        f"Check how the output of {said(first)} is used: include it in the loss, or "
        "freeze the module.",
        named(calls),
    )


_REASONS = {
    "bypassed": _bypassed,
    "not-called": _not_called,
    "weight-taken": _taken,
    "unused": _unused,
    "unreturned": unreturned,
    "copied": of_copies,
    "made-anew": made_anew,
    "other-forward": of_another,
    "none-returned": none_returned,
}
