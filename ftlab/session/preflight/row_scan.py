"""Preflight's look at the first rows of a dataset, for the rules about rows."""

from typing import Any

from ftlab.probes.data.files.sources import sources_of
from ftlab.probes.tokens.untouched import untouched
from ftlab.records.errors import BadValueError
from ftlab.session.data_findings import dataset_event
from ftlab.session.data_limits import limit_of
from ftlab.session.data_scanning import scan_sources
from ftlab.session.data_verdict import Asked
from ftlab.session.preflight.given import Given
from ftlab.session.preflight.saying import Check, Items
from ftlab.session.preflight.seen import Seen

ROWS = 5000
"""Rows that are looked at; they take a second or two."""

_ROWS = Check("data", "rows of the dataset")
_ALL = "ftlab.data(dataset, tokenizer) looks at all rows, of files and streams too"


def scan_rows(seen: Seen) -> Items:
    """Let the rules know of the first rows, and yield what was not looked at.

    Rows that only code of the user's makes are not asked for: five thousand of them may
    take long.
    """
    given = seen.given
    if given.dataset is None:
        return
    if not _is_table(given.dataset):
        kind = type(given.dataset).__name__
        yield _ROWS.not_checked(f"the dataset is a {kind}", _ALL)
        return
    try:
        with untouched():
            known = scan_sources(_asked(given)).known
    except BadValueError as error:  # rows without a text
        yield _ROWS.not_checked(str(error), _ALL)
        return
    seen.dry.run.append(dataset_event(known))
    if known.rows < known.total:
        says = f"the first {known.rows:,} of {known.total:,} rows were looked at"
        yield _ROWS.not_checked(says, _ALL)


def _is_table(dataset: Any) -> bool:
    """Tell whether rows are there as they are: a ``Dataset``, or a list of them."""
    table = hasattr(dataset, "with_format") and hasattr(dataset, "__len__")
    return table or isinstance(dataset, list | tuple)


def _asked(given: Given) -> Asked:
    asked = getattr(given.args, "max_length", None)
    limit = asked if type(asked) is int and asked > 0 else None
    held = getattr(given.trainer, "eval_dataset", None)
    small = held is not None and _is_table(held) and len(held) <= ROWS
    return Asked(
        type(given.dataset).__name__,
        sources_of(given.dataset),
        given.tokenizer,
        sources_of(held) if small else [],
        *limit_of(limit, given.tokenizer),
        most=ROWS,
        total=len(given.dataset),
    )
