"""An adapter that an evaluation made active, and that training went on with."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ftlab.rules.reading.adapter_states import KEY, states_of
from ftlab.runlog.run import Run


@dataclass(frozen=True, slots=True)
class LeftActive:
    """Two adapters that an optimizer holds, one of which was left active.

    Attributes
    ----------
    active, before
        The one that runs now, and the one that ran in training until then.
    steps
        The first and the last training step with the one that was left active.
    was_loaded
        Whether that one was loaded for use, and the other one was not.
    """

    active: str
    before: str
    steps: tuple[int, int]
    was_loaded: bool


class _Forward(NamedTuple):
    """A forward of one adapter; ``chosen`` since the one before it."""

    step: int
    graph: bool
    adapter: str
    chosen: bool


def left_active(run: Run, held: set[str]) -> LeftActive | None:
    """Tell whether training went on with the adapter of an evaluation.

    Parameters
    ----------
    held
        The adapters that an optimizer holds. Of others `ADP008` tells more.
    """
    forwards = list(_forwards(run))
    trained = [each for each in forwards if each.graph]
    adapters = list(dict.fromkeys(each.adapter for each in trained))
    if len(adapters) != 2 or not held.issuperset(adapters):
        return None
    before, active = adapters
    first = next(i for i, e in enumerate(forwards) if e.graph and e.adapter == active)
    if any(each.adapter != active for each in forwards[first:] if each.graph):
        return None  # they take turns
    if forwards[first].chosen or not _was_evaluated(forwards[:first], active):
        return None
    configs = run.facts.model.get("peft") or {}
    modes = [configs.get(name, {}).get("inference_mode") for name in (active, before)]
    steps = forwards[first].step, trained[-1].step
    return LeftActive(active, before, steps, modes == [True, False])


def _was_evaluated(forwards: list[_Forward], active: str) -> bool:
    """Tell whether the last switch was to ``active``, for a look without a graph."""
    since = [i for i, each in enumerate(forwards) if each.chosen][-1:]
    looked = forwards[since[0] :] if since else []
    return bool(looked) and all(
        each.adapter == active and not each.graph for each in looked
    )


def _forwards(run: Run) -> Iterator[_Forward]:
    states, chosen = states_of(run), False
    for entry in run.ledger:
        if entry.op == "set_adapter":
            chosen = True
        state = states.get(int(entry.detail.get(KEY, -1)))
        if entry.op != "forward" or state is None:
            continue
        off = len(state.disabled) >= state.layers
        name = ",".join(sorted(state.active)) if not off else ""
        graph = bool(entry.detail.get("grad_enabled"))
        yield _Forward(entry.step, graph, name, chosen)
        chosen = False
