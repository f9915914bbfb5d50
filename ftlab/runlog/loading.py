"""Where to begin reading a run: memory takes the end raw and the rest rolled up."""

from collections.abc import Iterator, Sequence
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


def windows(folder: Path, table: str, budget: int) -> list[Window]:
    """Return all coarse roll-ups of ``table``, after the latest of the fine ones.

    Older fine ones than fit into ``budget`` bytes stay on the disk, where a coarse one
    covers them.
    """
    coarse = [*_rolled(folder, table, COARSE, 0)]
    covered = max((each.start + COARSE for each in coarse), default=0)
    numbers = segment_numbers(folder, f"rollup{FINE}-{table}")
    first, size, begin = 0, 0, covered + 1
    for number in reversed(numbers):
        if size > budget and begin <= covered:
            break
        first = number
        schema = file_schema(segment_path(folder, f"rollup{FINE}-{table}", number))
        if schema is not None:
            size += rows_in(schema) * len(schema.names) * 4
            begin = (steps_of(schema) or (0, 0))[0]
    return [*_rolled(folder, table, FINE, first), *coarse]


def _rolled(folder: Path, table: str, span: int, first: int) -> Iterator[Window]:
    """Yield the roll-ups of one span from a segment on."""
    name = f"rollup{span}-{table}"
    for number in segment_numbers(folder, name):
        if number >= first:
            path = segment_path(folder, name, number)
            rolled = read_segment(path)
            if "step" not in rolled.column_names:  # torn before its first batch
                continue
            with LeftOut(path):
                yield from windows_from(rolled, span)


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
