"""The words of the tokens at which attention goes wrong."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ftlab.probes.attention.documents import rows_of
from ftlab.records.attention import AttentionReport, Pair


def with_words(
    report: AttentionReport, batch: Mapping[str, Any], tokenizer: Any
) -> AttentionReport:
    """Put the pieces of the tokens beside the first places of each fault."""
    ids = rows_of(batch.get("input_ids"))
    convert = getattr(tokenizer, "convert_ids_to_tokens", None)
    if ids is None or convert is None:
        return report

    def piece(row: int, position: int) -> str:
        if not 0 <= position < ids.shape[1] or row >= len(ids):
            return ""
        found = convert([int(ids[row, position])])
        return str(found[0]) if found and found[0] is not None else ""

    rows = []
    for row in report.rows:
        ahead = report.keys - ids.shape[1]
        first = {
            fault: Pair(
                pair.query,
                pair.key,
                piece(row.row, pair.query + report.keys - report.queries - ahead),
                piece(row.row, pair.key - ahead),
            )
            for fault, pair in row.first.items()
        }
        rows.append(replace(row, first=first))
    return replace(report, rows=tuple(rows))
