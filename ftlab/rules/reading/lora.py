"""Whether a run has LoRA at all, for the rules about its pairs."""

import math

import numpy as np

from ftlab.records.names import NameRecord
from ftlab.rules.rule import Need, Run, needs_column, only_of


def may_hold_lora(run: Run) -> bool:
    """Tell whether the model has LoRA adapters, or nothing is known of its adapters.

    IA3, prompt tuning and the like have no pair A and B; AdaLoRA's third factor makes
    of B A another product, which is not measured.
    """
    adapters = run.facts.model.get("peft")
    if adapters is None or run.names("adapters"):
        return True
    kinds = (str(config.get("peft_type", "")) for config in adapters.values())
    return any(kind.upper().rpartition(".")[2] == "LORA" for kind in kinds)


def needs_pairs(column: str, what: str) -> Need:
    """Need what is measured of LoRA's pairs."""
    record = "watch a model with LoRA layers, with the standard probes"
    return only_of(may_hold_lora, needs_column(column, what, record, "adapters"))


def expected_scaling(pair: NameRecord) -> float:
    """Return the scaling that a pair's own alpha and rank give; 0 if unknown."""
    rank, alpha = float(pair.meta.get("r", 0)), float(pair.meta.get("alpha", 0))
    if rank <= 0:
        return 0.0
    return alpha / (math.sqrt(rank) if pair.meta.get("use_rslora") else rank)


def begun_anew(run: Run) -> set[str]:
    """Name the modules whose LoRA pair was set back to adding nothing in the run.

    While B is 0 the gradient of A is exactly 0 and that of B is not; after B had been
    trained that happens only when it is emptied again.
    """
    l2 = run.matrix("grad_l2")
    columns = {row: index for index, row in enumerate(l2.ids.tolist())}
    found = set()
    for pair in run.names("adapters").values():
        halves = [columns.get(int(pair.meta.get(half, -1))) for half in ("a", "b")]
        if None in halves:
            continue
        a, b = (np.where(l2.known[:, c], l2.values[:, c], np.nan) for c in halves)
        trained = np.maximum.accumulate(a > 0)
        if bool((trained & (a == 0) & (b > 0)).any()):
            found.add(str(pair.meta.get("module", "")))
    return found
