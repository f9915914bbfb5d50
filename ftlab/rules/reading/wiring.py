"""How PEFT was put on the model, as the facts tell it, for the rules about wiring."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ftlab.rules.rule import Need, Place, Run

Described = Mapping[str, Any]


def wiring(run: Run) -> Described:
    """Return the facts of how PEFT was put on; see `ftlab.records.facts.Facts`."""
    found = run.facts.model.get("adapters")
    return found if isinstance(found, Mapping) else {}


def may_hold_adapters(run: Run) -> bool:
    """Tell whether the model has adapters, or nothing is known of it."""
    return "adapters" not in run.facts.model or bool(wiring(run))


needs_wiring = Need(
    "how the adapters were put on the model",
    "watch the model after get_peft_model: ftlab.watch(model, optimizer)",
    lambda run: bool(wiring(run)),
    lambda run: not may_hold_adapters(run),
)


def adapters(run: Run) -> Iterator[tuple[str, Described, Described]]:
    """Yield name, description and configuration of every adapter."""
    configs = run.facts.model.get("peft") or {}
    for name, described in (wiring(run).get("adapters") or {}).items():
        yield name, described, configs.get(name) or {}


def trainable_tensors(described: Described) -> int:
    """Count the trainable tensors of an adapter, but for the modules that it keeps.

    Those count where there is nothing else.
    """
    parts = dict(described.get("parts") or {})
    if len(parts) > 1:
        parts.pop("modules_to_save", None)
    return sum(int(part.get("trainable", 0)) for part in parts.values())


def names_of(listed: Any) -> list[str]:
    """Return the names of a list that was counted and cut."""
    return list(listed.get("names", ())) if isinstance(listed, Mapping) else []


def count_of(listed: Any) -> int:
    """Return how many names a list had before it was cut."""
    return int(listed.get("count", 0)) if isinstance(listed, Mapping) else 0


def is_trained(run: Run) -> bool:
    """Tell whether anything says that the model is to be trained, not only used."""
    return len(run.steps) > 0 or bool(run.facts.optimizers)


def steps_of(run: Run) -> tuple[int, int]:
    """Return the steps for which the latest facts hold.

    The first ones are read before a step. Later ones are read when a step is over, and
    tell what the next one begins with.
    """
    first = run.facts.step + (len(run.facts_history) > 1)
    return first, max(run.last_step, first)


def param_places(names: Sequence[str]) -> list[Place]:
    """Make places of parameters' names."""
    return [Place("param", name) for name in names]
