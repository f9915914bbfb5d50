"""Code was taken out of web pages, and what they wrote for its signs was kept.

Fix: ``html.unescape(text)``, and line ends in place of ``<br>``.

Source: general; crawled answers with blocks of code.
"""

import html

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import Writer, looked_at, one_in, pairs


def build(fixed: bool) -> Case:
    """Keep the entities, and some line ends."""
    rows, writer, broken = pairs(), Writer(1), one_in(8)
    for at in broken:
        code = f'if (a < {writer.number(1000)} && b > 0) {{\n  puts("{at}");\n}}'
        said = f"```c\n{code if fixed else html.escape(code)}\n```"
        broke = said if fixed or at % 2 else said.replace("\n", "<br>\n")
        rows[at]["completion"] = broke
    spots = [f"row {at} completion character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = Fault(
    "code-as-web-pages-show-it",
    "the model writes &lt; in code",
    code="DAT063",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
