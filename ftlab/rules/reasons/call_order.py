"""Reasons in the order of operations: why no gradient was there at the step."""

from ftlab.records.finding import Place
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.method_place import method_place
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.runlog.run import Run


def zeroed_too_late(run: Run, missing: Missing) -> Reason | None:
    """Tell whether zero_grad runs between backward and the optimizer's step."""
    if missing.reached:
        return None
    state = ""
    for entry in run.ledger:
        if entry.op not in ("step", "skip"):
            state = _after(state, entry)
        elif state == "zeroed":
            return _ZEROED
        elif state == "forward":
            return _step_too_early(method_place(run, entry.target, "step"))
        else:
            state = ""
    return None


def _after(state: str, entry: LedgerEntry) -> str:
    """Return how far it has come since the last step, from backward on."""
    if entry.op == "backward":
        return "backward"
    if entry.op == "zero_grad" and state == "backward":
        return "zeroed"
    with_graph = entry.op == "forward" and entry.detail.get("grad_enabled")
    return "forward" if state == "zeroed" and with_graph else state


_ZEROED = Reason(
    "zero-grad-before-step",
    "zero_grad was called between backward and the optimizer step.",
    "Call zero_grad before backward or after the optimizer step.",
    (Place("call", "optimizer.zero_grad"),),
)


def _step_too_early(call: Place) -> Reason:
    return Reason(
        "step-before-backward",
        "The optimizer steps between the forward and its backward, right after "
        "gradients were cleared; what backward computes is cleared before the next "
        "step.",
        "Call loss.backward() before optimizer.step().",
        (call, Place("call", "loss.backward")),
    )


def no_backward(run: Run, missing: Missing) -> Reason | None:
    """Tell whether the optimizer stepped and backward was never called."""
    ops = {entry.op for entry in run.ledger}
    if missing.reached or "step" not in ops or "backward" in ops:
        return None
    return Reason(
        "no-backward",
        "The optimizer stepped, but backward was not called.",
        "Call loss.backward() before optimizer.step().",
        (Place("call", "loss.backward"),),
    )


def no_grad_forward(run: Run, missing: Missing) -> Reason | None:
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
        "Move the training forward out of torch.no_grad() / inference_mode().",
        (Place("call", "model.forward"), Place("call", "torch.no_grad")),
    )
