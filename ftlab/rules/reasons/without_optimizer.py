"""Why trainable parameters are in no optimizer: built too early, or another adapter."""

from collections.abc import Sequence

from ftlab.records.finding import Place
from ftlab.rules.reading.adapter_states import adapters_in_groups
from ftlab.rules.reading.tensors import group_of, text_of
from ftlab.rules.reasons.missing import Reason
from ftlab.runlog.run import Run


def without_optimizer(run: Run, missing: Sequence[str]) -> Reason:
    """Tell why parameters are in no group."""
    mine = _adapter_of(run, missing)
    held = sorted(adapters_in_groups(run) - {mine})
    if _left_out(run, missing):
        return _SELECTION
    if not mine or not held:
        return Reason(
            "built-before",
            "The optimizer was built before these parameters existed or became "
            "trainable (get_peft_model, set_adapter, unfreezing, a new head).",
            "Build the optimizer from the currently trainable parameters: AdamW([p for "
            "p in model.parameters() if p.requires_grad]), or add them with "
            "optimizer.add_param_group.",
        )
    order = list(run.facts.model.get("peft") or {})
    newest = max(held, key=order.index)
    if order.index(newest) > order.index(mine):
        return _never_active(mine, newest)
    return _built_for_another(mine, newest)


_SELECTION = Reason(
    "left-out",
    "The optimizer holds other parameters of the same adapter in each of these layers: "
    "it was built after get_peft_model, from a list that omits these (groups by name, "
    "a filter), or while they were frozen.",
    "Add them to a group: parameters that no name matches are easily forgotten, like "
    "lora_magnitude_vector in groups for lora_A and lora_B.",
)


def _left_out(run: Run, missing: Sequence[str]) -> bool:
    """Tell whether the optimizer holds a part of each adapter layer that it misses."""
    wanted = set(missing)
    layers: dict[str, set[tuple[str, str]]] = {"missing": set(), "held": set()}
    for record in run.names().values():
        layer = text_of(record, "module"), text_of(record, "adapter")
        lost = record.name in wanted
        if lost and not layer[1]:
            return False
        if lost or group_of(record) >= 0:
            layers["missing" if lost else "held"].add(layer)
    return bool(layers["missing"]) and layers["missing"] <= layers["held"]


def _never_active(mine: str, newest: str) -> Reason:
    return Reason(
        "adapter-not-active",
        f"The optimizer holds adapter {newest!r}, which was added last but never "
        f"activated: {mine!r} still runs, and is trainable. add_adapter and "
        "load_adapter do not change the active adapter.",
        f"Call model.set_adapter({newest!r}) before the optimizer is built.",
        (Place("call", "set_adapter"), Place("object", f"adapter {newest}")),
    )


def _built_for_another(mine: str, other: str) -> Reason:
    return Reason(
        "built-for-another-adapter",
        f"The optimizer was built while adapter {other!r} was trainable; {mine!r} was "
        "activated afterwards (set_adapter), which freezes the others.",
        f"Build the optimizer after set_adapter({mine!r}); to train {other!r}, call "
        f"model.set_adapter({other!r}).",
    )


def _adapter_of(run: Run, missing: Sequence[str]) -> str:
    """Return the one adapter that all parameters are of, or ``""``."""
    wanted = set(missing)
    found = {
        text_of(record, "adapter")
        for record in run.names().values()
        if record.name in wanted
    }
    known = run.facts.model.get("peft") or {}
    return found.pop() if len(found) == 1 and found <= set(known) else ""
