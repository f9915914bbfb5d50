"""Targets that were chosen by a class of layers which quantised layers have not."""

from collections.abc import Iterator

from ftlab.records.finding import Severity
from ftlab.rules.reading.wiring import Described, count_of, names_of, wiring
from ftlab.rules.reasons.cut_entries import Cut
from ftlab.runlog.run import Run

_PAIRS = {"lora_A", "lora_B", "lora_magnitude", "lora_bias"}


def only_plain(run: Run, described: Described) -> Iterator[Cut]:
    """Yield an adapter that is on all layers but the quantised ones.

    A warning where the choice cannot have been one of a place: it holds layers within
    and outside of the blocks, or the blocks are checkpointed, and nothing within them
    or before them learns.
    """
    layers = wiring(run).get("quantised") or {}
    bare, plain = layers.get("bare"), layers.get("plain_adapted")
    if not count_of(bare) or count_of(layers.get("adapted")):
        return
    if count_of(layers.get("plain_bare")) or not _all_of_it(described, count_of(plain)):
        return
    names = names_of(plain)
    within = {any(map(str.isdigit, name.split("."))) for name in names}
    alone = within == {False} and not wiring(run).get("outside")
    idle = alone and bool(run.facts.model.get("gradient_checkpointing"))
    what = " and ".join(sorted({name.rpartition(".")[2] for name in names}))
    besides = (
        " The blocks are checkpointed, and nothing in them is trained." if idle else ""
    )
    yield Cut(
        "target_modules",
        "only-unquantised",
        Severity.WARNING if idle or len(within) > 1 else Severity.INFO,
        f"quantised layers have no adapter, but all others ({what}) do",
        "A list built with type(module) is nn.Linear omits the quantised layers, which "
        f"are of a different class (Linear4bit, Linear8bitLt).{besides}",
        'target_modules="all-linear", or isinstance(module, nn.Linear) in the list, '
        f"without {what}.",
        count_of(bare),
        tuple(names_of(bare)),
    )


def _all_of_it(described: Described, plain: int) -> bool:
    """Tell whether a LoRA is on ``plain`` layers, and has nothing besides."""
    alone = set(described.get("parts") or {}) <= _PAIRS
    return alone and plain > 0 and int(described.get("layers") or 0) == plain
