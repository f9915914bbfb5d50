"""Run an unedited training script, watched.

The script runs as ``__main__`` in this process, with its own ``sys.argv`` and
``sys.path[0]``. What it prints, raises and exits with is what it would be without
ftlab; what ftlab has to say goes to standard error, at the end.
"""

import contextlib
import importlib.machinery
import os
import sys
import time
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ftlab.records.errors import BadValueError
from ftlab.session.autowatch import Autowatch
from ftlab.session.summary import print_watches

_OURS = str(Path(__file__).parents[1])

ExitCode = int | str | None
"""What ``sys.exit`` takes."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script and what it was given.

    Attributes
    ----------
    path
        The Python file.
    arguments
        Its command line.
    run_dir
        Folder of the run log, or ``None`` for one under ``runs/``.
    activations
        Measure activations too.
    """

    path: str
    arguments: Sequence[str] = ()
    run_dir: Path | None = None
    activations: bool = False


def run_script(script: Script) -> ExitCode:
    """Run ``script`` watched and return what it exits with.

    Raises
    ------
    BadValueError
        There is no such file.
    RunFolderError
        The run folder exists.
    KeyboardInterrupt
        The script was interrupted; its traceback has been shown.
    """
    source = _source(script.path)
    auto = Autowatch(
        lambda _: None, run_dir=_run_dir(script), activations=script.activations
    )
    with auto:
        main = _become(script)
        ending = _execute(source, main)
        auto.stop(_failure(ending))
    _show(ending)
    if os.environ.get("RANK", "0") == "0":
        print_watches(auto.watches, sys.stderr)
    if isinstance(ending, KeyboardInterrupt):
        sys.excepthook = lambda *_: None  # it has been shown; Python ends interrupted
        raise ending
    if isinstance(ending, SystemExit):
        return ending.code
    return None if ending is None else 1


def _source(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        msg = (
            f"ftlab run {path}: {error.strerror}. Name the Python file that trains, "
            "after the options of ftlab: ftlab run --run-dir DIR train.py ARGUMENTS."
        )
        raise BadValueError(msg) from error


def _become(script: Script) -> types.ModuleType:
    """Make this process look as if Python had been started with the script."""
    main = types.ModuleType("__main__")
    loader = importlib.machinery.SourceFileLoader("__main__", script.path)
    vars(main).update(
        __file__=str(Path(script.path).absolute()),
        __builtins__=__builtins__,
        __cached__=None,
        __loader__=loader,
    )
    sys.modules["__main__"] = main
    sys.argv[:] = [script.path, *script.arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(script.path).resolve().parent)
    return main


def _execute(source: bytes, main: types.ModuleType) -> BaseException | None:
    try:
        code = compile(source, str(main.__file__), "exec", dont_inherit=True)
        exec(code, vars(main))
    except BaseException as error:  # noqa: BLE001  it ends the script, not ftlab
        return error.with_traceback(_without_ours(error.__traceback__))
    return None


def _failure(ending: BaseException | None) -> BaseException | None:
    """Return ``ending`` unless it is a script's way to end well."""
    return None if isinstance(ending, SystemExit) and not ending.code else ending


def _without_ours(
    trace: types.TracebackType | None,
) -> types.TracebackType | None:
    """Leave out the frames that would not be there without ftlab."""
    if trace is None:
        return None
    rest = _without_ours(trace.tb_next)
    if trace.tb_frame.f_code.co_filename.startswith(_OURS):
        return rest
    return types.TracebackType(rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)


def _show(ending: BaseException | None) -> None:
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    if ending is not None and not isinstance(ending, SystemExit):
        sys.excepthook(type(ending), ending, ending.__traceback__)


def _run_dir(script: Script) -> Path | None:
    """Return one folder for all ranks that the same torchrun has started."""
    if script.run_dir is not None or "RANK" not in os.environ:
        return script.run_dir
    import psutil

    launcher = psutil.Process(os.getppid())
    started = time.localtime(launcher.create_time())
    return Path("runs") / f"{time.strftime('%Y-%m-%d-%H%M%S', started)}-{launcher.pid}"
