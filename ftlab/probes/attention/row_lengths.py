"""How long the rows of a trainer's data are."""

from typing import Any

MOST = 20_000
"""Rows that are counted; the first of them stand for all."""


def row_lengths(trainer: Any) -> tuple[int, ...]:
    """Return the lengths of the rows; none where the data does not hold token ids.

    Of packed rows, those of their documents, where the data holds them. Columns are
    read as they are stored: nothing is tokenised or collated.
    """
    data = getattr(trainer, "train_dataset", None)
    names = getattr(data, "column_names", None)
    if data is None or not isinstance(names, list) or "input_ids" not in names:
        return ()
    if hasattr(data, "with_format"):  # a function of the user's may make the rows
        data = data.with_format(None)
    rows = data[:MOST]
    if "seq_lengths" in names:
        return tuple(int(length) for row in rows["seq_lengths"] for length in row)
    return tuple(len(row) for row in rows["input_ids"])
