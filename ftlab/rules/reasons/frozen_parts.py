"""Parts of an adapter that are frozen while its other parts learn."""

from collections.abc import Iterator
from dataclasses import dataclass

from ftlab.rules.reading.wiring import Described, count_of, names_of, trainable_tensors
from ftlab.rules.reasons.why_frozen import left_off, why_part_frozen
from ftlab.runlog.run import Run

_KINDS = {
    "modules_to_save": ("modules-to-save", "modules_to_save"),
    "lora_magnitude": ("magnitude", "use_dora"),
}
"""Parts that learn beside the pairs: why they are reported, and what asks for them."""

_PARTNER = {".lora_B.": ".lora_A.", ".lora_embedding_B.": ".lora_embedding_A."}

_EMBEDDING = ("lora_embedding_A", "lora_embedding_B")


@dataclass(frozen=True, slots=True)
class FrozenPart:
    """A part of an adapter of which nothing learns.

    Attributes
    ----------
    reason
        A reason of ADP010.
    what
        What is frozen, in words.
    field
        The field of the configuration that asks for it.
    names
        Its parameters.
    off
        Modules that have it and run another one.
    """

    reason: str
    what: str
    field: str
    names: list[str]
    off: list[str]
    cause: str
    fix: str


def frozen_parts(run: Run, adapter: str, described: Described) -> Iterator[FrozenPart]:
    """Yield the parts that are frozen as a whole while the adapter's pairs learn."""
    if not trainable_tensors(described):
        return
    for name, (reason, field) in _KINDS.items():
        part = described["parts"].get(name) or {}
        if part and not part.get("trainable"):
            off = left_off(run, adapter, name)
            reason = "copy-left-off" if off else reason
            names = names_of(part.get("frozen"))
            why = why_part_frozen(run, adapter, field, off)
            yield FrozenPart(reason, field, field, names, off, *why)
    if names := _embeddings(described):
        yield FrozenPart(
            "embedding-pairs", "the pair of an embedding", _TARGETS, names, [], *_WHY
        )


def frozen_pairs(described: Described) -> Iterator[tuple[str, list[str], int]]:
    """Yield the part, the B of pairs both of which are frozen, and how many there are.

    Only where other pairs of the same part learn.
    """
    for key, partner in _PARTNER.items():
        part, other = key.strip("."), partner.strip(".")
        mine = described["parts"].get(part) or {}
        theirs = described["parts"].get(other) or {}
        if not mine.get("trainable"):
            continue
        below = set(names_of(theirs.get("frozen")))
        frozen = [
            name
            for name in names_of(mine.get("frozen"))
            if name.replace(key, partner) in below
        ]
        if frozen:
            yield part, frozen, int(mine["tensors"])


def _embeddings(described: Described) -> list[str]:
    """Name the pairs of embeddings, if all are frozen at 0 and all others learn."""
    parts = described["parts"]
    pairs, lines = [parts.get(part) or {} for part in _EMBEDDING], parts.get("lora_B")
    if not lines or lines["trainable"] < lines["tensors"] or not all(pairs):
        return []
    zeros = max(count_of(pair.get("frozen_zero")) for pair in pairs)
    if any(pair["trainable"] for pair in pairs) or zeros < pairs[0]["tensors"]:
        return []
    return [name for pair in pairs for name in names_of(pair.get("frozen"))]


_TARGETS = "target_modules"

_WHY = (
    "target_modules names the embedding, whose factors PEFT calls lora_embedding_A and "
    "lora_embedding_B: a loop that keeps only '.lora_A.' and '.lora_B.' freezes them. "
    "One of the two is exactly 0 and stays 0, so they never add anything.",
    "Do not change requires_grad after get_peft_model, or match 'lora_'; or remove the "
    "embedding from target_modules.",
)
