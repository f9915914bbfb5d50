"""What shows that a dataset is no longer what it was: files, and lists in memory."""

from pathlib import Path

from ftlab.probes.data.files.entries import Source

Stamp = tuple[int, ...]

GONE: Stamp = (-1,)
"""Of what cannot be looked at any more."""


class Stamps:
    """Keeps size, time and inode of each file, and the length of what is in memory.

    Examples
    --------
    >>> from ftlab.probes.data.files.sources import sources_of
    >>> from ftlab.probes.data.files.stamps import Stamps
    >>> rows = [{"text": "a"}]
    >>> stamps = Stamps(sources_of(rows))
    >>> stamps.changed()
    ()
    >>> rows.append({"text": "b"})
    >>> stamps.changed()
    ('the dataset',)
    """

    def __init__(self, sources: list[Source]) -> None:
        self._sources = sources
        self._taken = list(map(_stamp, sources))

    def changed(self) -> tuple[str, ...]:
        """Return the names of what has changed since."""
        pairs = zip(self._sources, self._taken, strict=True)
        return tuple(
            source.name or "the dataset"
            for source, taken in pairs
            if _stamp(source) != taken
        )


def _stamp(source: Source) -> Stamp:
    if source.path:
        try:
            facts = Path(source.path).stat()
        except OSError:
            return GONE
        return facts.st_size, facts.st_mtime_ns, facts.st_ino
    return () if source.count is None else (source.count(),)
