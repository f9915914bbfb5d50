"""Opens the folder of a run: finished, crashed, or still growing."""

from pathlib import Path

from ftlab.records.errors import RunFolderError
from ftlab.records.plain_files import path_of
from ftlab.runlog.folder import EXAMPLE, rank_folder, ranks, read_meta
from ftlab.runlog.follow import Follower
from ftlab.runlog.run import Run
from ftlab.runlog.store import BUDGET


def open_log(
    path: str | Path, *, rank: int = 0, follow: bool = False, budget: int = BUDGET
) -> Run:
    """Open the folder of a run.

    What a killed process left half-written at the end of a file is left out.

    Parameters
    ----------
    rank
        Which rank's log to read; ``run.ranks`` lists them.
    follow
        Let ``run.refresh()`` read on while the folder grows.
    budget
        Bytes of raw rows to keep in memory; older ones are read when asked for.

    Raises
    ------
    RunFolderError
        When ``path`` is not the folder of a run, or has no such rank.
    BadValueError
        When ``path`` is no path.
    SchemaError
        When a newer ftlab has written it.

    See Also
    --------
    ftlab.runlog.writer.LogWriter : Writes such a folder.

    Examples
    --------
    >>> from ftlab.runlog.reader import open_log
    >>> open_log("no-such-run")
    Traceback (most recent call last):
    ...
    ftlab.records.errors.RunFolderError: 'no-such-run' is not the folder of a run: it \
is no folder. Pass the folder that watch printed, for instance \
open_run('runs/2026-11-20-090500-1').
    """
    path = path_of(path, "path", EXAMPLE)
    meta = read_meta(path)
    there = [each for each in ranks(path) if rank_folder(path, each).is_dir()]
    if rank not in there:
        found = ", ".join(map(str, there)) or "none"
        msg = (
            f"The run {str(path)!r} has no rank {rank!r:.40}; its ranks are {found}. "
            "Pass one of them as rank=."
        )
        raise RunFolderError(msg)
    run = Run(path, meta, rank=there[there.index(rank)], budget=budget)
    follower = Follower(run, path, budget)
    follower.load()
    if follow:
        run.follow(follower.refresh)
    return run
