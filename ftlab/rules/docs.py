"""Write the table of rules, or check that it is fresh.

``python -m ftlab.rules.docs`` writes ``ftlab/rules/README.md``; with ``--check`` it
writes nothing and fails when the file is stale.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ftlab.rules.page import RulePage, page_of
from ftlab.rules.registry import AREAS, all_rules

README = Path(__file__).with_name("README.md")

_HEAD = """\
# Rules

<!-- Written by `python -m ftlab.rules.docs`: edit the rules' docstrings instead. -->

`ftlab.explain("CODE")` shows a rule's whole page. A new rule is one new file in the
folder of its area, with the sections of any other one.
"""


def readme() -> str:
    """Return what the README should say."""
    pages = [page_of(rule) for rule in all_rules()]
    parts = [_HEAD]
    for area in AREAS:
        members = [page for page in pages if page.area == area]
        if members:
            parts += [f"## {area}", "", "| code | name | what it does | status |"]
            parts += ["| --- | --- | --- | --- |", *map(_row, members), ""]
    return "\n".join(parts)


def _row(page: RulePage) -> str:
    file = f"{page.area}/{page.name.replace('-', '_')}.py"
    return f"| {page.code} | [{page.name}]({file}) | {page.summary} | {page.status} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m ftlab.rules.docs")
    parser.add_argument("--check", action="store_true", help="fail when stale")
    check = parser.parse_args(arguments).check
    wanted = readme()
    if not check:
        README.write_text(wanted, encoding="utf-8")
        return 0
    if README.is_file() and README.read_text(encoding="utf-8") == wanted:
        return 0
    sys.stderr.write(f"{README} is stale: run python -m ftlab.rules.docs\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
