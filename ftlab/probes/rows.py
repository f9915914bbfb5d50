"""Ids of everything that is measured: one book for all tables of a run."""

from collections.abc import Callable, Mapping
from typing import Any

from ftlab.probes.naming import layer_of
from ftlab.records.names import NameKind, NameRecord


class RowBook:
    """Gives each row of each table its id, and announces it when it is new or changed.

    Parameters
    ----------
    announce
        Gets a `NameRecord` for each new or changed row.

    Examples
    --------
    >>> from ftlab.probes.rows import RowBook
    >>> announced = []
    >>> book = RowBook(announced.append)
    >>> book.name("adapters", "layers.0.q_proj [default]", "adapter")
    0
    >>> book.name("adapters", "layers.0.q_proj [default]", "adapter")
    0
    >>> [record.layer for record in announced]
    ['layers.0']
    """

    def __init__(self, announce: Callable[[NameRecord], None]) -> None:
        self._announce = announce
        self._ids: dict[tuple[str, str], int] = {}
        self._known: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.step = 0

    def name(
        self,
        table: str,
        name: str,
        kind: NameKind,
        meta: Mapping[str, str | int | float | bool] | None = None,
        **fields: Any,
    ) -> int:
        """Return the id of a row; ``fields`` are further fields of `NameRecord`.

        A row that is named when its values have arrived, a step late, gives the step
        that they are of as ``since_step``.
        """
        since = fields.pop("since_step", self.step)
        row = self._ids.setdefault((table, name), len(self._ids))
        told = (dict(meta or {}), fields)
        if self._known.get(row) != told:
            self._known[row] = told
            facts: dict[str, Any] = {"meta": told[0], "layer": layer_of(name)} | fields
            record = NameRecord(row, table, name, kind, since_step=since, **facts)
            self._announce(record)
        return row
