"""Which adapters were merged into a model before it was saved, as the ledger tells."""

from ftlab.records.step import LedgerEntry
from ftlab.rules.reading.adapter_states import held_adapters
from ftlab.rules.reading.saving import first_facts
from ftlab.runlog.run import Run

_BRINGING = ("add_adapter", "load_adapter", "load")
"""Operations after which an adapter may be made of what was trained."""


def others_merged(run: Run, save: LedgerEntry) -> tuple[set[str], set[str]] | None:
    """Return the adapters that were merged, and those trained, where none is the same.

    ``None`` where it cannot be told: no name is known, or an adapter was put together
    or loaded after an update.
    """
    held, known = held_adapters(run), set(first_facts(run).model.get("peft") or {})
    active, merged, updated, off = set(held), set(), False, False
    for entry in run.ledger:
        if entry is save:
            break
        named = set(filter(None, str(entry.detail.get("adapters", "")).split(",")))
        updated |= entry.op == "step"
        if updated and entry.op in _BRINGING:
            return None
        active = named or active if entry.op == "set_adapter" else active
        merging = entry.op == "merge" or entry.detail.get("call") == "merge_and_unload"
        merged |= (named or active) if merging else set()
        merged = set() if entry.op == "unmerge" else merged
        off |= entry.op == "unload"
    found = updated and off and held and merged and merged <= known
    return (merged, held) if found and not merged & held else None
