"""One line for each token, as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ftlab.views.tokens.tokens_summary import learnt, turn_numbers, visible

if TYPE_CHECKING:
    import pandas as pd

    from ftlab.views.tokens.tokens_summary import Sample, TokenSummary

WHOLE = {"attention": "Int64", "label": "Int64", "position_id": "Int64"}


def token_table(summary: TokenSummary) -> pd.DataFrame:
    """Return the table of all rows."""
    import pandas as pd

    parts = [_columns(each, at, summary) for at, each in enumerate(summary.samples)]
    if not parts:
        return pd.DataFrame({name: [] for name in COLUMNS})
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        values = [part[name] for part in parts]
        if name in WHOLE:
            joined = pd.concat(
                [_whole(v, len(p["id"])) for v, p in zip(values, parts, strict=True)]
            )
            columns[name] = joined.array
        else:
            columns[name] = np.concatenate([np.asarray(each) for each in values])
    return pd.DataFrame(columns, columns=list(COLUMNS))


COLUMNS = (
    *("sample", "position", "token", "id", "text", "attention", "label", "trained"),
    *("learns", "bos", "eos", "pad", "stop", "special", "role", "message", "part"),
    *("weight", "position_id", "segment", "loss", "source"),
)


def _whole(values: Any, length: int) -> pd.Series[Any]:
    import pandas as pd

    held = [pd.NA] * length if values is None else values
    return pd.Series(held, dtype="Int64")


def _columns(sample: Sample, number: int, summary: TokenSummary) -> dict[str, Any]:
    row, pieces = sample.row, summary.batch.pieces
    length = len(row.ids)
    distinct, where = np.unique(row.ids, return_inverse=True)
    known = [pieces.get(each) for each in distinct.tolist()]
    names = ["?" if one is None else visible(one.piece) for one in known]
    flags = ["" if one is None else ", ".join(sorted(one.special)) for one in known]
    turns = turn_numbers(row)
    columns: dict[str, Any] = {
        "sample": np.full(length, number),
        "position": np.arange(length),
        "token": np.array(names, object)[where],
        "id": row.ids,
        "text": np.array(summary.texts_of(row), object),
        "attention": row.attention,
        "label": row.labels,
        "trained": row.trained,
        "learns": np.array(learnt(row, summary.texts), object),
        "special": np.array(flags, object)[where],
        # the last entry stands for positions outside of all turns, whose number is -1
        "role": np.array([*(t.role for t in row.turns), ""], object)[turns],
        "message": np.array([*(t.message for t in row.turns), -1])[turns],
        "part": np.array([*(t.part for t in row.turns), ""], object)[turns],
        "weight": _floats(row.weights, length),
        "position_id": row.positions,
        "segment": np.zeros(length, np.int32) if row.segments is None else row.segments,
        "loss": _floats(row.losses, length),
        "source": np.full(length, row.source, object),
    }
    for name in ("bos", "eos", "pad", "stop"):
        ids = list(summary.batch.special.get(name, ()))
        columns[name] = np.isin(row.ids, ids)
    return columns


def _floats(values: Any, length: int) -> Any:
    return np.full(length, np.nan, np.float32) if values is None else values
