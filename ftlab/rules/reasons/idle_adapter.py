"""The reason that an adapter is not in use: disabled, merged, or not the active one."""

from collections.abc import Sequence

from ftlab.records.finding import Place
from ftlab.rules.reading.adapter_states import State, passes_of
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.reasons.cut_pattern import checkpointed, lowest_layers
from ftlab.rules.reasons.missing import Missing, Reason
from ftlab.rules.words import listed
from ftlab.runlog.run import Run


def idle_adapter(run: Run, missing: Missing) -> Reason | None:
    """Tell why all tensors of one adapter, and nothing else, got none: its state."""
    adapter = _only_adapter(missing)
    if not adapter:
        return None
    forwards = _forwards(run)
    state = _seen_state(forwards, adapter) or _state_of(run, adapter)
    return _reason(adapter, missing, state) if state else None


def quiet_adapter(run: Run, missing: Missing) -> Reason | None:
    """Name the adapter whose tensors got none where no record says why."""
    adapter = _only_adapter(missing)
    if not adapter or _forwards(run):  # it took part: the graph is lost elsewhere
        return None
    alone = not any(text_of(name, "adapter") for name in missing.reached)
    if alone and (checkpointed(run) or lowest_layers(run, missing)):
        return None
    return _reason(
        adapter,
        missing,
        "The run does not tell whether it is disabled, merged or inactive, or whether "
        "the graph is cut above all its layers.",
    )


def _forwards(run: Run) -> list[State]:
    return [state for each in passes_of(run) for state in each.forwards]


def _only_adapter(missing: Missing) -> str:
    """Return the adapter that all lost tensors, and no others, are of; else ``""``."""
    lost = {text_of(name, "adapter") for name in missing.lost}
    reached = {text_of(name, "adapter") for name in missing.reached}
    return lost.pop() if len(lost) == 1 and not lost & (reached | {""}) else ""


def _reason(adapter: str, missing: Missing, state: str) -> Reason:
    reached = {text_of(name, "adapter") for name in missing.reached} - {""}
    others = f"; adapter {listed(sorted(reached))} did" if reached else ""
    return Reason(
        "adapter-not-in-forward",
        f"No tensor of adapter {adapter!r} took part in the forward pass{others}. "
        + state,
        f"Check model.active_adapters, call model.set_adapter({adapter!r}), "
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
        return f"A different adapter was active: {listed(active)}."
    return ""


def _state_of(run: Run, adapter: str) -> str:
    """Say why an adapter is out of the forward pass, where it was recorded."""
    pairs = [
        n for n in run.names("adapters").values() if n.meta.get("adapter") == adapter
    ]
    if pairs and all(pair.meta.get("merged") is True for pair in pairs):
        return "It is merged into the base weights, which are used instead."
    if pairs and not any(pair.meta.get("active", True) for pair in pairs):
        return "It is disabled, or a different adapter is active."
    return ""
