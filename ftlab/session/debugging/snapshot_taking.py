"""Where `Debugger.snapshot` writes to, and what it needs for that."""

from pathlib import Path

from ftlab.records.errors import NotPausedError
from ftlab.records.plain_files import path_of
from ftlab.replay.engine import Engine
from ftlab.replay.snapshots.folder import free_folder
from ftlab.replay.snapshots.snapshot import write_snapshot
from ftlab.replay.stops.stop import Stop
from ftlab.session.observation import folder_of


def take_snapshot(
    stop: Stop | None,
    engine: Engine,
    state: str,
    path: str | Path | None,
    weights: str,
) -> Path:
    """Write a snapshot of ``stop`` and return its folder.

    Raises
    ------
    NotPausedError
        When there is no stop.
    """
    if stop is None:
        msg = (
            f"snapshot() needs a stop, but the run is {state}. Call run(), and "
            "snapshot() when it pauses."
        )
        raise NotPausedError(msg)
    moment = engine.moment()
    if path is None:
        base = folder_of(moment.model) or Path()
        folder = free_folder(base / "snapshots", stop.report.step)
    else:
        folder = path_of(path, "path", "snapshot('snapshots/mine')")
    write_snapshot(folder, stop, moment, weights=weights)
    return folder
