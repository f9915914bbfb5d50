"""Messages of a trainer's dataset of which nothing is in the ids of their row.

Datasets of TRL keep their messages beside the ids that were made of them. The first
rows are read as they are stored, without the dataset's own transforms.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ftlab.probes.tokens.unwritten import unwritten

ROWS = 16
"""First rows that are looked at."""

POSITIONS = 1 << 15
"""Tokens of them, at most: beyond, the rest is left out."""

TALKS = (("messages",), ("conversations",), ("prompt", "completion"))
"""Columns that hold a conversation."""


def left_out(trainer: Any) -> dict[str, Any]:
    """Tell what of the first conversations is not in their ids, by kind.

    Returns
    -------
    dict
        Such as ``{"left_out": {"rows": 16, "found": [{"kind": "system", "rows": 16,
        "row": 0, "message": 0}]}}``; empty where the dataset holds no messages, or
        where rows are made as they are asked for.
    """
    rows = list(_whole(_rows(trainer), getattr(trainer.args, "max_length", None)))
    tokenizer = getattr(trainer, "processing_class", None)
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    if not rows or inner is None:
        return {}
    told = unwritten(((n, row["messages"], row["ids"]) for n, row in rows), inner)
    return {"left_out": told}


def dropped(trainer: Any) -> str:
    """Say how many rows TRL has dropped because no label of them was left.

    Its SFTTrainer cuts the rows, which makes a table of its own, and then filters it.
    """
    data, args = trainer.train_dataset, trainer.args
    cut = getattr(args, "max_length", None)
    settings = getattr(args, "dataset_kwargs", None) or {}
    others = getattr(args, "packing", False) or settings.get("skip_prepare_dataset")
    made = any(each.__name__ == "SFTTrainer" for each in type(trainer).__mro__)
    if not made or cut is None or others:
        return ""
    names = getattr(data, "column_names", None) or ()
    before = getattr(getattr(data, "data", None), "num_rows", 0)
    if "labels" not in names or before <= len(data):
        return ""
    return (
        f"TRL dropped {before - len(data):,} of {before:,} rows: cut to "
        f"max_length={cut}, they hold nothing that would be trained"
    )


def _rows(trainer: Any) -> list[Mapping[str, Any]]:
    """Read the first rows of a dataset that is a table of messages and ids."""
    data = trainer.train_dataset
    names = getattr(data, "column_names", None)
    if not isinstance(names, list) or not hasattr(data, "with_format"):
        return []
    talk = next((each for each in TALKS if set(each) <= set(names)), None)
    if talk is None or "input_ids" not in names or not hasattr(data, "select_columns"):
        return []
    plain = data.with_format(None).select_columns([*talk, "input_ids"])
    count = min(ROWS, len(plain))
    return [
        {"ids": row["input_ids"], "messages": _talk(row, talk)}
        for row in (plain[at] for at in range(count))
    ]


def _talk(row: Mapping[str, Any], columns: Iterable[str]) -> list[Any]:
    parts = [row[name] for name in columns]
    return [m for part in parts if isinstance(part, list) for m in part]


def _whole(
    rows: Sequence[Mapping[str, Any]], limit: object
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows that were not cut: several of the same greatest length may be."""
    lengths = [len(row["ids"]) for row in rows]
    longest = max(lengths, default=0)
    cut = longest if lengths.count(longest) > 1 else longest + 1
    if isinstance(limit, int):
        cut = min(cut, limit)
    room = POSITIONS
    for number, row in enumerate(rows):
        room -= len(row["ids"])
        if row["messages"] and len(row["ids"]) < cut and room >= 0:
            yield number, row
