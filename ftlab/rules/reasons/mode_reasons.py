"""Why parts of a model are trained in evaluation mode, as far as the run shows it."""

from typing import NamedTuple

from ftlab.records.finding import Severity
from ftlab.records.names import NameRecord


class Signs(NamedTuple):
    """What is known of how it came to be off."""

    switched: bool
    put_back: bool


class Why(NamedTuple):
    """Why it is told, and how loudly."""

    kind: str
    severity: Severity
    cause: str
    fix: str


_FIX = "Call model.train() before the loop and after every evaluation."
_SWITCHED = Why(
    "switched",
    Severity.WARNING,
    "It was in training mode before: model.eval() was called, for an evaluation or by "
    "a hook, without model.train() after it.",
    _FIX,
)
_PUT_BACK = Why(
    "put-back",
    Severity.WARNING,
    "train() is called, but eval() is called again before the forward: by the pass of "
    "a teacher or reference that shares its modules with the model.",
    "Restore the mode after that pass: model.train() just before the forward.",
)
_BASE_ALONE = Why(
    "base-alone",
    Severity.WARNING,
    "The PeftModel is in training mode, but eval() was called on its inner model, "
    "which contains the adapter too: most likely as a teacher or reference.",
    "Call model.train() on the PeftModel after that; if the adapter's dropout should "
    "be off, configure lora_dropout=0.",
)
_CHECKPOINTING = Why(
    "checkpointing",
    Severity.INFO,
    "Gradient checkpointing is switched on, but blocks are checkpointed only in "
    "training mode; from_pretrained returns a model in evaluation mode.",
    _FIX,
)
_FROM_THE_START = Why(
    "from-the-start",
    Severity.INFO,
    "It was in evaluation mode when the run began, as from_pretrained returns it. That "
    "is fine if dropout should be off.",
    "Call model.train() before the loop; if dropout should be off, set its p to 0, "
    "which is explicit.",
)
_STATISTICS = Why(
    "statistics",
    Severity.INFO,
    "The batch norms use their existing statistics, and collect none from this data.",
    "Fine if they are frozen on purpose; otherwise call model.train().",
)


def why_off(total: dict[str, int], modules: list[NameRecord], signs: Signs) -> Why:
    """Say why the parts of ``modules`` are off; ``total`` counts them by kind."""
    if not (total["dropouts_off"] or total["checkpointing_off"]):
        return _STATISTICS
    if signs.switched:
        return _SWITCHED
    if _adapter_is_off(modules):
        if signs.put_back:
            return _PUT_BACK
        if modules[0].meta.get("carrier_on"):
            return _BASE_ALONE
    return _CHECKPOINTING if total["checkpointing_off"] else _FROM_THE_START


def _adapter_is_off(modules: list[NameRecord]) -> bool:
    """Tell whether dropouts of an adapter that learns are off, and none is on."""
    off = sum(int(module.meta.get("adapter_off", 0)) for module in modules)
    return off > 0 and not modules[0].meta.get("adapter_on")
