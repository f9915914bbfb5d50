"""What the facts tell of saving, loading and resuming, for the rules about them."""

from collections.abc import Mapping
from typing import Any

from ftlab.records.facts import Facts
from ftlab.rules.rule import Run, needs_facts, only_of

Described = Mapping[str, Any]

PLAIN = ("True", "gaussian")
"""Ways to begin after which B is 0."""

needs_model = needs_facts(
    "model",
    "facts of the model",
    "watch the model: ftlab.watch(model, optimizer), or ftlab.preflight(model)",
)


def saving(run: Run) -> Described:
    """Return what saving the model would write; see `probes.saving_facts`."""
    return _mapping(run.facts.model.get("saving"))


def start(run: Run) -> Described:
    """Return how the run began; see `probes.start_facts`."""
    return _mapping(first_facts(run).model.get("start"))


def first_facts(run: Run) -> Facts:
    """Return the facts that were read before the run."""
    history = run.facts_history
    return history[0] if history else Facts()


def adapter_file(run: Run) -> Described:
    """Return the adapter's folder against the model; empty where none is known."""
    return _mapping(start(run).get("file"))


def has_adapters(run: Run) -> bool:
    """Tell whether the model has adapters, or nothing is known of it."""
    return "peft" not in run.facts.model or bool(run.facts.model["peft"])


needs_peft_model = only_of(has_adapters, needs_model)
"""The need of a rule that is about models with adapters."""


def idle_beside_fresh(run: Run) -> tuple[str, str] | None:
    """Name a fresh adapter that is active, and a trained one that is not.

    Only where the trained one came later: whoever makes an adapter after it, and
    activates that, wants to train it.
    """
    rows = list((start(run).get("adapters") or {}).items())
    active = [index for index, (_, row) in enumerate(rows) if row.get("active")]
    if not active or any(not _is_fresh(rows[index][1]) for index in active):
        return None
    for name, row in rows[active[-1] + 1 :]:
        plain = row["init"] in PLAIN and not row["trainable"]
        if plain and row["zero_b"] == 0 and row["pairs"]:
            return rows[active[-1]][0], name
    return None


def idle_of_file(run: Run) -> tuple[str, str] | None:
    """Name a fresh adapter that is active, and the one that has the folder's values.

    Not where it was loaded for use: another one is trained beside it then.
    """
    file, rows = adapter_file(run), start(run).get("adapters") or {}
    name = str(file.get("adapter", ""))
    active = [each for each, row in rows.items() if row.get("active")]
    if not file.get("keys") or file.get("different") or file.get("for_use", True):
        return None
    if name not in rows or not active or _is_zero(rows[name]):
        return None
    if any(not _is_fresh(rows[each]) for each in active):
        return None
    return active[-1], name


def _is_zero(row: Described) -> bool:
    return int(row["zero_b"]) >= int(row["pairs"])


def _is_fresh(row: Described) -> bool:
    return row["init"] in PLAIN and 0 < row["pairs"] == row["zero_b"]


def is_activated(run: Run, adapter: str) -> bool:
    """Tell whether the adapter was made the active one in the run."""
    return any(
        adapter in str(entry.detail.get("adapters", "")).split(",")
        for entry in run.ledger
        if entry.op == "set_adapter"
    )


def is_saved_by_peft(run: Run) -> bool:
    """Tell whether PEFT writes the model down: a trainer will, or it has been seen."""
    args = run.facts.training.get("args") or {}
    planned = args.get("save_strategy") != "no"
    return (planned and "trainer_class" in run.facts.training) or any(
        entry.op == "save" and entry.detail.get("kind") == "adapter"
        for entry in run.ledger
    )


def span(run: Run, first: int = 0) -> tuple[int, int]:
    """Return the steps that a statement about the whole run holds for."""
    return first, max(run.last_step, first)


def _mapping(value: Any) -> Described:
    return value if isinstance(value, Mapping) else {}
