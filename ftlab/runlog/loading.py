"""Where to begin reading a run: memory takes the end raw and the rest rolled up."""

from collections.abc import Sequence
from pathlib import Path

from ftlab.runlog.decode import windows_from
from ftlab.runlog.disk import LeftOut
from ftlab.runlog.rollup import COARSE, FINE, Window
from ftlab.runlog.schema import OTHER_TABLES
from ftlab.runlog.segment import segment_numbers, segment_path
from ftlab.runlog.tail import file_schema, read_segment, rows_in, steps_of


def raw_tables(folder: Path) -> list[str]:
    """Return the names of the block tables that have segments."""
    names = {path.name.rpartition("-")[0] for path in folder.glob("*-*.arrow")}
    names = {name for name in names - OTHER_TABLES if name.isprintable()}
    return sorted(name for name in names if not name.startswith("rollup"))


def windows(folder: Path, table: str) -> list[Window]:
    """Return all roll-ups of ``table``, coarse after fine."""
    found: list[Window] = []
    for span in (FINE, COARSE):
        name = f"rollup{span}-{table}"
        for number in segment_numbers(folder, name):
            path = segment_path(folder, name, number)
            rolled = read_segment(path)
            with LeftOut(path):
                found += windows_from(rolled, span)
    return found


def begin_raw(
    folder: Path, table: str, budget: int, rolled: Sequence[Window] = ()
) -> int:
    """Return the number of the first segment to read so that the rest fits.

    What ``rolled`` lacks, a window without a roll-up, is read whole to be rolled up.
    """
    finished = max((each.start for each in rolled if each.span == FINE), default=-1)
    first, size = 0, 0
    for number in reversed(segment_numbers(folder, table)):
        path = segment_path(folder, table, number)
        first = number
        schema = file_schema(path)
        if schema is None:
            size += path.stat().st_size
            continue
        size += rows_in(schema) * len(schema.names) * 4
        begin = (steps_of(schema) or (0, 0))[0]
        if size > budget and begin // FINE * FINE <= finished:
            break
    return first


def begin_ledger(folder: Path) -> int:
    """Return the number of the last segment but one: memory keeps only the end."""
    return max([0, *segment_numbers(folder, "ledger")[-2:-1]])
