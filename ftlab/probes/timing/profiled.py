"""Whose time it was that torch's profiler has seen."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from ftlab.records.step_time import PHASES

_NODE = "autograd::engine::evaluate_function"


def parts_of(
    events: Any, steps: Collection[str], modules: Collection[str]
) -> tuple[str, float, dict[str, list[float]]]:
    """Return the device, its seconds within steps, and of each part three.

    They are forward, backward and elsewhere; parts are modules and phases.
    """
    work = [e for e in events if "CPU" not in str(e.device_type)]
    total = sum(e.time_range.elapsed_us() for e in work if not e.is_user_annotation)
    parts: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * 3)
    places: dict[int, tuple[str, str]] = {}
    makers: dict[tuple[int, int], str] = {}
    for event in (e for e in events if "CPU" in str(e.device_type)):
        around = places.get(id(event.cpu_parent), ("", ""))  # it comes before
        module, phase = _place(event, around, makers, modules)
        if event.name in steps:
            phase, total = "other", total + (0 if work else event.cpu_time_total)
        places[id(event)] = module, phase
        spent = event.self_cpu_time_total if phase else 0.0
        if work:
            kernels = () if event.is_user_annotation else event.kernels
            spent, phase = sum(each.duration for each in kernels), phase or "other"
        inside = phase in ("forward", "backward")
        part = parts[module or "outside of modules" if inside else phase]
        part[phase == "backward" if inside else 2] += spent / 1e6
    kept = {name: part for name, part in parts.items() if sum(part)}
    return "GPU" if work else "CPU", total / 1e6, kept


def _place(
    event: Any, around: tuple[str, str], makers: Any, modules: Collection[str]
) -> tuple[str, str]:
    """Return module and phase of an event; no phase is outside of the steps."""
    (module, phase), name, number = around, event.name, event.sequence_nr
    if name.startswith(_NODE):
        return makers.get((event.fwd_thread, number), ""), "backward"
    if event.is_user_annotation:
        if name in PHASES:
            return "", phase and name
        return name if name in modules else module, phase
    if number >= 0 and event.scope == 0:  # the last one with it makes the node
        makers[event.thread, number] = module
    return around
