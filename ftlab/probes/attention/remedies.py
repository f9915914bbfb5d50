"""What would take illegal attention away, tried on the same batch."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from ftlab.records.attention import PADDING, AttentionReport, Documents

Try = Callable[[Mapping[str, Any]], float]
"""Gives the share of illegal attention for a changed batch."""


def remedies(
    batch: Mapping[str, Any], report: AttentionReport, attempt: Try
) -> list[str]:
    """Say which changes of the batch were seen to help, in words.

    Parameters
    ----------
    attempt
        Reads the masks anew; what raises is no remedy.
    """
    illegal = max((row.illegal for row in report.rows), default=0.0)
    if not illegal:
        return []
    said = []
    for words, changed in _changes(batch, report):
        try:
            left = attempt(changed)
        except Exception:  # noqa: BLE001  a model may refuse what is only an idea
            continue
        if left < illegal / 10:
            became = f"{left:.1%}" if left else "0"
            said.append(f"tried: {words}; the illegal share falls to {became}")
            break
    return said


def _changes(
    batch: Mapping[str, Any], report: AttentionReport
) -> list[tuple[str, dict[str, Any]]]:
    """List changes, the smallest first."""
    kinds = {fault for row in report.rows for fault in row.faults}
    mask = batch.get("attention_mask")
    found = []
    if "other sample" in kinds:
        told = batch.get("position_ids") is not None
        bare = {k: v for k, v in batch.items() if k != "attention_mask"}
        if told and mask is not None:
            words = "without attention_mask (position ids tell the documents only then)"
            found.append((words, bare))
        if told:
            words = "with use_cache=False" + (
                " and without attention_mask" if mask is not None else ""
            )
            found.append((words, {**bare, "use_cache": False}))
        if report.documents:
            words = "with position_ids that restart at each document"
            fresh = {"position_ids": _restarted(report.documents), "use_cache": False}
            found.append((f"{words} and use_cache=False", {**bare, **fresh}))
    if "padding" in kinds:
        words = "with an attention_mask that is 0 at the padding"
        made = {"attention_mask": _mask(report.documents)}
        found.append((words, {**batch, **made}))
    return found


def _restarted(documents: tuple[Documents, ...]) -> torch.Tensor:
    rows = []
    for each in documents:
        starts, at = set(each.starts), 0
        row = []
        for position in range(len(each.numbers)):
            at = 0 if position in starts else at
            row.append(at)
            at += 1
        rows.append(row)
    return torch.tensor(rows)


def _mask(documents: tuple[Documents, ...]) -> torch.Tensor:
    return torch.stack(
        [torch.from_numpy(each.numbers != PADDING).long() for each in documents]
    )
