"""Adapters that are 0 at the start of a run, and what proves that they were not so."""

from collections.abc import Iterator
from dataclasses import dataclass

from ftlab.records.name_words import in_words
from ftlab.rules.reading.saving import Described, first_facts, start
from ftlab.runlog.run import Run

_FEWEST = 2
"""One vector alone may be held at 1 by somebody's code."""


@dataclass(frozen=True, slots=True)
class Zeros:
    """An adapter whose B are all 0, and a reason of `not_loaded_causes`."""

    reason: str
    words: str
    tensors: list[str]


def adapters_at_zero(run: Run) -> Iterator[Zeros]:
    """Yield what moments prove, or else what the state of each adapter does."""
    if moved := _behind_moments(run):
        words = f"the optimizer has moments for {moved} B, but all of them are 0"
        yield Zeros("moments-without-weights", words, _trained_b(run))
        return
    live = str(start(run).get("base_class", ""))
    for name, row in _rows(run):
        if not row["pairs"] or row["zero_b"] < row["pairs"]:
            continue
        wanted = row["saved_from"]
        elsewhere = bool(wanted and live and wanted != live)
        resumed = first_facts(run).step > 0 and row["trainable"]
        if elsewhere or resumed or _is_loaded(run, name):
            reason = "resumed-at-zero" if resumed else "zero"
            reason = "other-class" if elsewhere else reason
            told = f" (saved from {wanted}, loaded on {live})" if elsewhere else ""
            tensors = _b_of(name, row)
            words = f"every B of the adapter {name!r} is 0{told}: {in_words(tensors)}"
            yield Zeros(reason, words, tensors)


def _is_loaded(run: Run, adapter: str) -> bool:
    """Tell whether an adapter was loaded for use, by how loading leaves a model.

    It is in evaluation mode, and says inference_mode; what was made for training and is
    frozen was not loaded: ADP010.
    """
    model = first_facts(run).model
    config = (model.get("peft") or {}).get(adapter) or {}
    training = (model.get("training_modes") or {}).get("training")
    made = config.get("inference_mode") is False
    return not (int(model.get("trainable", 1)) or made or training)


def _behind_moments(run: Run) -> int:
    """Count B that moments have moved, where all of them are 0."""
    fits = list(start(run).get("optimizer_fit", ()))
    moved = sum(int(each.get("moved", 0)) for each in fits)
    return moved if moved == sum(int(each.get("empty", 0)) for each in fits) else 0


def weights_without_values(run: Run) -> tuple[int, list[str]]:
    """Count and name what Adam has moved of norms, where all of it is as made."""
    fits = list(start(run).get("optimizer_fit", ()))
    moved = sum(int(each.get("norms", 0)) for each in fits)
    unmoved = sum(int(each.get("unmoved_count", 0)) for each in fits)
    if moved < _FEWEST or unmoved < moved:
        return 0, []
    return unmoved, [name for each in fits for name in each.get("unmoved", ())]


def _trained_b(run: Run) -> list[str]:
    rows = [(name, row) for name, row in _rows(run) if row["trainable"]]
    return [tensor for name, row in rows for tensor in _b_of(name, row)]


def _b_of(adapter: str, row: Described) -> list[str]:
    return [f"{module}.lora_B.{adapter}.weight" for module in row["scaling"]]


def _rows(run: Run) -> list[tuple[str, Described]]:
    return list((start(run).get("adapters") or {}).items())
