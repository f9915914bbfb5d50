"""A file of rows ends in the middle of a line: its writer was stopped.

The disk was full, the job was killed, or the download broke off. Readers raise at that
line, or leave it out in silence.

Fix: write the file anew, or leave the line out: ``report.filtered(path)``.

Source: general; the reader of JSON in `datasets` raises on it as a whole.
"""

from ftlab.faults.builders.chats import tokenizer
from ftlab.faults.builders.rows import (
    as_lines,
    fault_of_rows,
    in_file,
    looked_at,
    talks,
)
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Write a file, and stop in the middle of its last line."""
    lines, made = as_lines(talks()), tokenizer()
    if not fixed:
        lines[-1] = lines[-1][: len(lines[-1]) // 2]
    at = f"line {len(lines)} character *"
    return looked_at(in_file(lines, made), made=made, spots=[at])


FAULT = fault_of_rows(
    "the last line of a file ends in the middle",
    code="DAT057",
)
