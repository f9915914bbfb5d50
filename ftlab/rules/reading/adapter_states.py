"""What state the adapter layers were in when the model was run and updated."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ftlab.records.facts import Facts
from ftlab.records.names import NameRecord
from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.tensors import text_of
from ftlab.rules.rule import Need, Place, Run

KEY = "adapter_state"
"""Under this key an entry of the ledger holds the number of the state."""


def may_have_adapters(run: Run) -> bool:
    """Tell whether the model has adapters, or nothing is known of it yet."""
    known = bool(run.names("adapter_states")) or bool(run.facts.model.get("peft"))
    return known or not len(run.steps)


needs_states = Need(
    "the state of the adapter layers at each forward",
    "ftlab.watch(model, optimizer)",
    lambda run: bool(run.names("adapter_states")),
    lambda run: not may_have_adapters(run),
)
"""What every rule about the use of adapters needs."""


@dataclass(frozen=True, slots=True)
class State:
    """One state of all adapter layers.

    Attributes
    ----------
    layers
        How many layers there were; 0 after they were unloaded.
    disabled, merged
        Paths of the layers that were disabled, and merged.
    active, merged_adapters
        Names of adapters.
    mergeable
        How many of the layers can be merged: not a module that is saved as a whole.
    """

    layers: int
    disabled: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    active: frozenset[str] = frozenset()
    merged_adapters: frozenset[str] = frozenset()
    mergeable: int = 0


@dataclass(slots=True)
class Pass:
    """The forwards with a graph that one backward follows.

    Attributes
    ----------
    forwards
        The state at each of them.
    backward
        The state after the backward.
    """

    step: int
    forwards: list[State] = field(default_factory=list)
    backward: State | None = None

    def in_all(self, part: str) -> list[str]:
        """Return the layers that were ``"disabled"`` or ``"merged"`` in all forwards.

        A reference pass with the adapter switched off goes along with a pass that has
        it on.
        """
        lists = [getattr(state, part) for state in self.forwards]
        if not lists:
            return []
        common = set(lists[0]).intersection(*lists[1:])
        return [path for path in lists[0] if path in common]


def states_of(run: Run) -> dict[int, State]:
    """Return the states that were met, by number."""
    return {row: _state(name) for row, name in run.names("adapter_states").items()}


def passes_of(run: Run) -> list[Pass]:
    """Return the passes of the window, each with the states of its layers."""
    states, found = states_of(run), []
    if not states:
        return []
    current = Pass(-1)
    for entry in run.ledger:
        state = states.get(int(entry.detail.get(KEY, -1)))
        if entry.op == "forward" and entry.detail.get("grad_enabled") and state:
            current.forwards.append(state)
        elif entry.op == "backward":
            current.step, current.backward = entry.step, state
            found.append(current)
            current = Pass(-1)
    return found


def updates_of(run: Run) -> Iterator[tuple[LedgerEntry, State]]:
    """Yield the optimizers' steps with the state that the layers were in."""
    states = states_of(run)
    for entry in run.ledger if states else ():
        state = states.get(int(entry.detail.get(KEY, -1)))
        if entry.op == "step" and state is not None:
            yield entry, state


def adapter_tensors(run: Run) -> list[NameRecord]:
    """Return the tensors of adapters that an optimizer holds, or that are trainable."""
    return [
        name
        for name in run.names().values()
        if text_of(name, "adapter")
        and (name.trainable or int(name.meta.get("group", -1)) >= 0)
    ]


def held_adapters(run: Run) -> set[str]:
    """Return the adapters of which an optimizer holds tensors."""
    return {
        text_of(name, "adapter")
        for name in adapter_tensors(run)
        if int(name.meta.get("group", -1)) >= 0
    }


def held_at(run: Run) -> Callable[[int], set[str]]:
    """Return what gives the adapters that an optimizer held at a step.

    Those of the latest groups belong to every step: which adapter an optimizer is made
    for is often known late. What an optimizer held in its time belongs to that time: a
    second stage has an adapter, and often an optimizer, of its own.
    """
    latest, known = held_adapters(run), run.names().values()
    adapter_of = {name.name: text_of(name, "adapter") for name in known}
    held = [
        (facts.step, {adapter_of.get(name, "") for name in _in_groups(facts)} - {""})
        for facts in run.facts_history
    ]

    def at(step: int) -> set[str]:
        # Facts that were read when a step was over may be of its end only, or of all.
        before = [adapters for since, adapters in held if since < step]
        within = [adapters for since, adapters in held if since == step]
        return latest.union(*before[-1:], *within)

    return at


def wait_for_thawing(run: Run, frozen: Sequence[str]) -> bool:
    """Tell whether an optimizer holds all of these frozen parameters.

    So it is where they are frozen until their turn: the optimizer was made for them.
    """
    return bool(frozen) and set(frozen) <= set(_in_groups(run.facts))


def adapters_in_groups(run: Run) -> set[str]:
    """Return the adapters of which a group holds tensors, be they frozen or not."""
    known = dict(run.facts.model.get("peft") or {})
    names = list(_in_groups(run.facts))
    ends = {adapter: tuple(f".{adapter}{end}" for end in _ENDS) for adapter in known}
    return {a for a, end in ends.items() if any(name.endswith(end) for name in names)}


def _in_groups(facts: Facts) -> Iterator[str]:
    """Yield the names of what the groups of all optimizers hold."""
    for optimizer in facts.optimizers:
        for group in optimizer.get("groups", ()):
            yield from map(str, group.get("names", ()))


_ENDS = ("", ".weight", ".bias", ".embedding.weight")
"""What follows an adapter's name in the names of its parameters."""


def calls_of(run: Run, *ops: str) -> list[str]:
    """Return the names of the calls that were heard, the latest first."""
    heard = [entry for entry in run.ledger if entry.op in ops]
    names = (str(entry.detail.get("call", entry.op)) for entry in reversed(heard))
    return list(dict.fromkeys(names))


def tensors_in(run: Run, layers: Sequence[str]) -> list[Place]:
    """Return the places of the adapter tensors in these layers."""
    inside = set(layers)
    return [
        Place("param", name.name)
        for name in adapter_tensors(run)
        if text_of(name, "module") in inside
    ]


def _state(name: NameRecord) -> State:
    meta = name.meta

    def split(key: str) -> tuple[str, ...]:
        text = str(meta.get(key, ""))
        return tuple(text.split(",")) if text else ()

    return State(
        int(meta.get("layers", 0)),
        split("disabled_layers"),
        split("merged_layers"),
        frozenset(split("active")),
        frozenset(split("merged_adapters")),
        int(meta.get("mergeable", meta.get("layers", 0))),
    )
