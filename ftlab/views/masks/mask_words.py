"""What masks are said to do, in words."""

from ftlab.records.attention import (
    FAULTS,
    AttentionReport,
    Documents,
    Fault,
    LayerKind,
    MaskRow,
    PaddingPlan,
    Pair,
)
from ftlab.records.printable import printable
from ftlab.views.style import count

MEANING: dict[Fault, str] = {
    "padding": "sees padding",
    "other sample": "sees another sample",
    "future": "sees future tokens",
    "missing": "does not see what it should",
}
SHOWN = 8
"""Rows of a batch that the text shows; the worst first."""


def percent(share: float) -> str:
    """Write a share; what is not 0 is never written as 0.

    Examples
    --------
    >>> from ftlab.views.masks.mask_words import percent
    >>> percent(0.5913), percent(0.00001), percent(0.0), percent(0.99999)
    ('59.1 %', 'below 0.1 %', '0 %', '99.9 %')
    """
    if 0 < share < 0.001:
        return "below 0.1 %"
    shown = min(100 * share, 99.9) if share < 1 else 100.0
    return f"{shown:.1f}".removesuffix(".0") + " %"


def report_text(report: AttentionReport) -> str:
    """Return the report as lines of text."""
    rows = len(report.documents)
    size = f"{report.queries:,} x {report.keys:,}"
    lines = [
        f"Attention of {report.model} ({report.implementation}): "
        f"{count(rows, 'row')} of {size}"
    ]
    lines += [f"  {kind_words(kind)}" for kind in report.kinds]
    ranked = worst_first(report)
    for row in ranked[:SHOWN]:
        documents = documents_words(report.documents[row])
        lines.append(f"  row {row}: {documents}")
        found = [each for each in report.rows if each.row == row]
        lines += [f"    {row_words(each)}" for each in found]
    if len(ranked) > SHOWN:
        lines.append(f"  {count(len(ranked) - SHOWN, 'more row')} in .table()")
    lines += [f"  padding, {plan_words(plan)}" for plan in report.plans]
    if any(not row.exact for row in report.rows):
        lines.append("  shares are estimates from a sample of queries")
    lines += [f"  {remark}" for remark in report.remarks]
    return "\n".join(lines)


def worst_first(report: AttentionReport) -> list[int]:
    """Return the rows of the batch, the one with the most illegal attention first."""
    worst = dict.fromkeys(range(len(report.documents)), (0.0, 0.0))
    for each in report.rows:
        found = (each.illegal, sum(map(each.share, FAULTS)))
        worst[each.row] = max(worst[each.row], found)
    return sorted(worst, key=lambda row: (-worst[row][0], -worst[row][1], row))


def kind_words(kind: LayerKind) -> str:
    """Say which layers a kind is, and what its mask was read from."""
    layers = layers_words(kind.layers)
    how = ["causal" if kind.causal else "bidirectional"]
    if kind.window:
        how.append(f"{kind.window:,} keys at most")
    said = f"; read from {kind.read_from}" if kind.read_from else ""
    return f"{kind.name} ({layers}): {', '.join(how)}{said}"


def layers_words(layers: tuple[int, ...]) -> str:
    """Write numbers of layers as ranges.

    Examples
    --------
    >>> from ftlab.views.masks.mask_words import layers_words
    >>> layers_words((0, 1, 2, 4)), layers_words((3,))
    ('layers 0-2, 4', 'layer 3')
    """
    if not layers:
        return "all layers"
    parts: list[list[int]] = []
    for each in layers:
        if parts and each == parts[-1][-1] + 1:
            parts[-1].append(each)
        else:
            parts.append([each])
    words = [f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts]
    return f"layer{'s' if len(layers) > 1 else ''} {', '.join(words)}"


def documents_words(documents: Documents) -> str:
    """Say how many documents a row holds, how that is known, and its padding."""
    padding = int((documents.numbers == -1).sum())
    words = count(documents.count, "document")
    if documents.told_by:
        may = "" if documents.sure else "may be "
        words = f"{may}{words} (by {documents.told_by})"
    return f"{words}, {padding:,} padding" if padding else words


def row_words(row: MaskRow) -> str:
    """Say what is wrong with one row under one mask."""
    found = [
        f"{MEANING[fault]}: {percent(row.share(fault))} of its pairs, "
        f"{row.queries[fault]:,} of its tokens, first {pair_words(row.first[fault])}"
        for fault in FAULTS
        if row.faults.get(fault) and (row.sure or fault != "other sample")
    ]
    if row.faults.get("other sample") and not row.sure:
        found.append(
            f"if these are documents, {percent(row.share('other sample'))} of its "
            f"pairs are between them, first {pair_words(row.first['other sample'])}"
        )
    return f"{row.kind}: {'; '.join(found) or 'nothing illegal'}"


def pair_words(pair: Pair) -> str:
    """Say which token attends to which."""
    query, key = _token(pair.query, pair.query_piece), _token(pair.key, pair.key_piece)
    return f"{query} -> {key}"


def plan_words(plan: PaddingPlan) -> str:
    """Say what one way of padding costs."""
    return (
        f"{plan.name}: {percent(plan.padding)} of {plan.tokens:,} tokens, "
        f"{plan.attention:.3g} times the attention that the documents need"
    )


def _token(position: int, piece: str) -> str:
    return f"token {position}" + (f" {printable(piece)!r}" if piece else "")
