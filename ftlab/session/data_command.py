"""``ftlab data``: a scan of files, as text for a terminal or as JSON."""

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from ftlab.records.data_scan import DataScan
from ftlab.records.errors import BadValueError
from ftlab.rules.dataset_issues import check_kind
from ftlab.session.data import DataReport, data
from ftlab.session.summary import print_text

FOUND, STOPPED = 1, 130
"""Exit codes: there is a warning or an error; the scan was stopped by Ctrl-C."""

_NO_COPY = (
    "{} was not written: the scan was stopped. Start it again; --no-near leaves out "
    "the search for rows that are almost the same."
)


@dataclass(frozen=True, slots=True)
class DataCommand:
    """What was asked on the command line."""

    files: tuple[Path, ...]
    tokenizer: str = ""
    evaluation: tuple[Path, ...] = ()
    max_length: int | None = None
    write: Path | None = None
    drop: tuple[str, ...] | None = None
    near: bool = True
    as_json: bool = False


def run_data(asked: DataCommand, stream: TextIO) -> int:
    """Scan, print what was found, write the copy, and return the exit code.

    Raises
    ------
    BadValueError
        A file or the tokenizer cannot be read, or the copy cannot be written.
    """
    if asked.drop is not None and asked.write is None:
        msg = "--drop says what a copy omits; name the copy: --write FILE."
        raise BadValueError(msg)
    if asked.write is not None:
        _check_copy(asked.write, asked.drop)
    report = data(
        asked.files[0] if len(asked.files) == 1 else list(asked.files),
        _tokenizer(asked.tokenizer) if asked.tokenizer else None,
        evaluation=list(asked.evaluation) or None,
        max_length=asked.max_length,
        near_duplicates=asked.near,
    )
    scan = report.summary
    if asked.as_json:
        stream.write(json.dumps(_as_json(scan), indent=2, allow_nan=False) + "\n")
    else:
        print_text(repr(report), stream)
        print_text(_speed(scan), sys.stderr, style="dim")
    if not scan.complete or scan.stopped:
        if asked.write is not None:
            print_text(_NO_COPY.format(asked.write), sys.stderr)
        return STOPPED
    if asked.write is not None:
        _write(report, asked)
    return 0 if report.ok else FOUND


def _check_copy(path: Path, drop: tuple[str, ...] | None) -> None:
    """Refuse what would be refused once everything is read."""
    if os.path.lexists(path):
        msg = f"{path} exists; name a new file: existing files are never changed."
        raise BadValueError(msg)
    for kind in drop or ():
        check_kind(kind)


def _write(report: DataReport, asked: DataCommand) -> None:
    kept = report.filtered(str(asked.write), asked.drop)
    left = report.summary.rows - kept
    print_text(f"{asked.write}: {kept:,} rows, {left:,} left out", sys.stderr)


def _tokenizer(folder: str) -> Any:
    """Load a tokenizer from its folder, without asking a hub for it."""
    from transformers import AutoTokenizer

    if not Path(folder).is_dir():
        msg = (
            f"--tokenizer {folder} is not a folder; tokenizer.save_pretrained creates "
            "one."
        )
        raise BadValueError(msg)
    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = str(error).strip().partition("\n")[0]
        msg = f"--tokenizer {folder} contains no tokenizer that can be loaded: {said}"
        raise BadValueError(msg) from error


def _speed(scan: DataScan) -> str:
    words = f"{scan.rows / max(scan.seconds, 1e-9):,.0f} rows/s"
    if scan.near is not None:
        words += f"; near duplicates {scan.near.speed:,.0f} rows/s"
    return words


def _as_json(scan: DataScan) -> dict[str, Any]:
    lengths = scan.lengths
    return {
        "name": scan.name,
        "rows": scan.rows,
        "complete": scan.complete,
        "stopped": scan.stopped,
        "changed": list(scan.changed),
        "formats": dict(scan.formats),
        "roles": dict(scan.roles),
        "lengths": {
            "unit": lengths.unit,
            "median": lengths.quantile(0.5),
            "p95": lengths.quantile(0.95),
            "longest": lengths.longest,
            "total": lengths.total,
            "limit": lengths.limit,
            "rows_above": lengths.above,
            "cut": lengths.cut,
        },
        "near_duplicates": None if scan.near is None else asdict(scan.near),
        "issues": [issue.as_json() for issue in scan.issues],
        "not_checked": list(scan.not_checked),
    }
