"""Where to begin reading a run: memory takes the end raw and the rest rolled up."""

from collections.abc import Iterator
from pathlib import Path

from ftlab.runlog.decode import windows_from
from ftlab.runlog.rollup import COARSE, FINE, Window
from ftlab.runlog.schema import OTHER_TABLES
from ftlab.runlog.segment import segment_numbers, segment_path
from ftlab.runlog.tail import file_schema, is_closed, read_segment, rows_in, steps_of


def raw_tables(folder: Path) -> list[str]:
    """Return the names of the block tables that have segments."""
    names = {path.name.rpartition("-")[0] for path in folder.glob("*-*.arrow")}
    return sorted(
        name for name in names - OTHER_TABLES if not name.startswith("rollup")
    )


def windows(folder: Path, table: str) -> Iterator[Window]:
    """Yield all roll-ups of ``table``, coarse after fine."""
    for span in (FINE, COARSE):
        name = f"rollup{span}-{table}"
        for number in segment_numbers(folder, name):
            rolled = read_segment(segment_path(folder, name, number))
            if rolled.num_rows:
                yield from windows_from(rolled, span)


def begin_raw(folder: Path, table: str, budget: int) -> int:
    """Return the number of the first segment to read so that the rest fits."""
    first, size, finished = 0, 0, last_window(folder, table)
    for number in reversed(segment_numbers(folder, table)):
        path = segment_path(folder, table, number)
        first = number
        if not is_closed(path):
            size += path.stat().st_size
            continue
        schema = file_schema(path)
        size += rows_in(schema) * len(schema.names) * 4
        begin = (steps_of(schema) or (0, 0))[0]
        # A window without a roll-up has to be read whole, to be rolled up here.
        if size > budget and begin // FINE * FINE <= finished:
            break
    return first


def last_window(folder: Path, table: str) -> int:
    """Return where the last finished fine window of ``table`` begins; -1 for none."""
    name = f"rollup{FINE}-{table}"
    for number in reversed(segment_numbers(folder, name)):
        rolled = read_segment(segment_path(folder, name, number), ["step"])
        if rolled.num_rows:
            return int(rolled.column("step")[-1].as_py())
    return -1


def begin_ledger(folder: Path) -> int:
    """Return the number of the last segment but one: memory keeps only the end."""
    return max([0, *segment_numbers(folder, "ledger")[-2:-1]])
