"""Whether a run has LoRA at all, for the rules about its pairs."""

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
