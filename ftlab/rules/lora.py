"""Whether a run has LoRA at all, for the rules about its pairs."""

import math

from ftlab.records.names import NameRecord
from ftlab.runlog.run import Run


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


def expected_scaling(pair: NameRecord) -> float:
    """Return the scaling that a pair's own alpha and rank give; 0 if unknown."""
    rank, alpha = float(pair.meta.get("r", 0)), float(pair.meta.get("alpha", 0))
    if rank <= 0:
        return 0.0
    return alpha / (math.sqrt(rank) if pair.meta.get("use_rslora") else rank)
