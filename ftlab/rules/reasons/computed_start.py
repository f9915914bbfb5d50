"""LoRA whose start was to be computed from data, and was drawn as by default."""

import math
from collections import defaultdict
from collections.abc import Mapping

from ftlab.records.names import NameRecord
from ftlab.rules.reading.tensors import records_of, text_of
from ftlab.runlog.run import Run

COMPUTED: Mapping[str, str] = {
    "eva": "initialize_lora_eva_weights",
    "lora_ga": "preprocess_loraga",
}
"""Initialisations that take data, and what has to be called for them."""

ERRORS = 4.0
"""Standard errors of a norm within which it fits a law."""


def asked_init(run: Run, adapter: str) -> str:
    """Return an adapter's `init_lora_weights` where it is a method by name."""
    config = (run.facts.model.get("peft") or {}).get(adapter) or {}
    method = config.get("init_lora_weights")
    return method.lower() if isinstance(method, str) else ""


def not_computed(run: Run) -> dict[str, list[NameRecord]]:
    """Return, by adapter, each A that is drawn although it was to be computed."""
    a, b = (run.matrix(c, "adapters").measured() for c in ("a_l2", "b_l2"))
    if not len(a.steps) or a.steps[0] != 0:
        return {}
    tensors = run.names()
    drawn: dict[str, list[NameRecord]] = defaultdict(list)
    others: set[str] = set()
    for column, pair in enumerate(records_of(run, a.ids, "adapters")):
        adapter = text_of(pair, "adapter")
        if asked_init(run, adapter) not in COMPUTED or not pair.meta.get("active", 1):
            continue
        factor = tensors.get(int(pair.meta.get("a", -1)))
        if factor is None or b.values[0, column] != 0:
            others.add(adapter)
        elif _is_default(pair, factor, float(a.values[0, column])):
            drawn[adapter].append(factor)
        else:
            others.add(adapter)
    return {name: found for name, found in drawn.items() if name not in others}


def _is_default(pair: NameRecord, factor: NameRecord, l2: float) -> bool:
    """Tell a norm that kaiming_uniform_ gives: elements of 1 / sqrt(3 x inputs)."""
    rank, count = int(pair.meta.get("r", 0)), math.prod(factor.shape)
    if rank < 1 or count < 2:
        return False
    return abs(l2 / math.sqrt(rank / 3) - 1) <= ERRORS / math.sqrt(2 * count)
