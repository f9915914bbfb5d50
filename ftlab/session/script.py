"""Run an unedited training script or module, watched.

It runs as ``__main__`` in this process, with its own ``sys.argv`` and
``sys.path[0]``. What it prints, raises and exits with is what it would be without
ftlab; what ftlab has to say goes to standard error, at the end.
"""

import contextlib
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftlab.records.errors import BadValueError
from ftlab.session.autowatch import Autowatch
from ftlab.session.summary import print_watches

if TYPE_CHECKING:
    from ftlab.session.debugging.pausing_script import PausingScript

_OURS = str(Path(__file__).parents[1])

ExitCode = int | str | None
"""What ``sys.exit`` takes."""

Compile = Callable[[bytes | str, str], types.CodeType]
"""Turns a source, and the name of its file, into code."""

ABORTED = 3
"""Exit code of a script that was given up where its numbers broke."""

Load = Callable[[types.ModuleType], types.CodeType]
"""Makes a module the main one and returns what it is to execute."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script and what it was given.

    Attributes
    ----------
    path
        The Python file, or the name of the module.
    arguments
        Its command line.
    run_dir
        Folder of the run log, or ``None`` for one under ``runs/``.
    activations
        Measure activations too.
    module
        Whether ``path`` names a module, as after ``python -m``.
    pause
        Stop where the numbers break.
    on_anomaly
        ``"abort"`` or ``"resume"`` answers such stops; ``""`` asks in the terminal.
    prove
        Try what must hold before training begins.
    """

    path: str
    arguments: Sequence[str] = ()
    run_dir: Path | None = None
    activations: bool = False
    module: bool = False
    pause: bool = False
    on_anomaly: str = ""
    prove: bool = False


def run_script(script: Script) -> ExitCode:
    """Run ``script`` watched and return what it exits with.

    Raises
    ------
    BadValueError
        There is no such file or module.
    RunFolderError
        The run folder exists.
    KeyboardInterrupt
        The script was interrupted; its traceback has been shown.
    """
    pausing = _pausing(script)
    compiled = _plain if pausing is None else pausing.compile
    load = (_module if script.module else _file)(script, compiled)
    auto = Autowatch(
        lambda _: None,
        run_dir=_run_dir(script),
        activations=script.activations,
        before=_prove if script.prove else None,
    )
    with auto:
        ending = _execute(load, script, pausing)
        auto.stop(_failure(ending))
    _show(ending)
    if os.environ.get("RANK", "0") == "0":
        print_watches(auto.watches, sys.stderr)
    if pausing is not None:
        pausing.close()
    if isinstance(ending, KeyboardInterrupt):
        sys.excepthook = lambda *_: None  # it has been shown; Python ends interrupted
        raise ending
    if isinstance(ending, SystemExit):
        return ending.code
    if pausing is not None and pausing.aborted:
        return ABORTED
    return None if ending is None else 1


def _prove(target: Any, given: Any = None, model: Any = None, **objects: Any) -> None:
    """Try on what is about to train what must hold, and print how it came out."""
    from ftlab.session.prove import prove

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        sys.stderr.write("ftlab: --prove tries one process alone.\n")
        return
    if given is not None:
        args, kwargs = given
        names = inspect.signature(model.forward).bind(*args, **kwargs).arguments
        by_name = {n: v for n, v in names.items() if n not in ("kwargs", *kwargs)}
        objects["batch"] = by_name | kwargs
        objects["model"] = model
    sys.stderr.write(f"{prove(target, **objects)!r}\n")


def _pausing(script: Script) -> "PausingScript | None":
    if not script.pause:
        if script.on_anomaly:
            msg = f"--on-anomaly {script.on_anomaly} responds to stops; add --pause."
            raise BadValueError(msg)
        return None
    from ftlab.session.debugging.pausing_script import PausingScript

    return PausingScript(script.on_anomaly)


def _plain(source: bytes | str, file: str) -> types.CodeType:
    return compile(source, file, "exec", dont_inherit=True)


def _file(script: Script, compiled: Compile) -> Load:
    """Read the file, and tell how to make it the main module."""
    path = script.path
    try:
        source = Path(path).read_bytes()
    except OSError as error:
        msg = (
            f"ftlab run {path}: {error.strerror}. Name the Python file that trains, "
            "after the options of ftlab: ftlab run --run-dir DIR train.py ARGUMENTS."
        )
        raise BadValueError(msg) from error

    def load(main: types.ModuleType) -> types.CodeType:
        vars(main).update(
            __file__=str(Path(path).absolute()),
            __cached__=None,
            __loader__=importlib.machinery.SourceFileLoader("__main__", path),
        )
        if not sys.flags.safe_path:
            sys.path[0] = str(Path(path).resolve().parent)
        return compiled(source, str(main.__file__))

    return load


def _module(script: Script, compiled: Compile) -> Load:
    """Look for the module's package, and tell how to make it the main module."""
    name = script.path
    if not sys.flags.safe_path:
        sys.path[0] = str(Path.cwd())
    package = name.partition(".")[0]
    if not package or importlib.util.find_spec(package) is None:
        msg = (
            f"ftlab run -m {name}: there is no module {package!r} on the path. Name a "
            "module as for python -m, from the folder that contains its package."
        )
        raise BadValueError(msg)

    def load(main: types.ModuleType) -> types.CodeType:
        spec, code = _found(name)
        source = spec.loader.get_source(spec.name) if script.pause else None  # type: ignore[union-attr]  # it gave the code
        code = code if source is None else compiled(source, str(spec.origin))
        vars(main).update(
            __file__=spec.origin,
            __cached__=spec.cached,
            __loader__=spec.loader,
            __package__=spec.parent,
            __spec__=spec,
        )
        sys.argv[0] = str(spec.origin)
        return code

    return load


def _found(name: str) -> tuple[importlib.machinery.ModuleSpec, types.CodeType]:
    """Find what ``python -m name`` runs; packages around it are imported."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name = f"{name}.__main__"
        spec = importlib.util.find_spec(name)
    loader: Any = None if spec is None else spec.loader
    code = None if loader is None else loader.get_code(name)
    if spec is None or code is None:
        msg = f"No module named {name}"
        raise ImportError(msg, name=name)
    return spec, code


def _execute(
    load: Load, script: Script, pausing: "PausingScript | None"
) -> BaseException | None:
    """Run it as if Python had been started with it; return what ended it."""
    main = types.ModuleType("__main__")
    vars(main).update(__builtins__=__builtins__)
    sys.modules["__main__"] = main
    sys.argv[:] = ["-m" if script.module else script.path, *script.arguments]
    try:
        code = load(main)
        if pausing is None:
            exec(code, vars(main))
        else:
            pausing.run(code, main)
    except BaseException as error:  # noqa: BLE001  it ends the script, not ftlab
        return error.with_traceback(without_ours(error.__traceback__))
    return None


def _failure(ending: BaseException | None) -> BaseException | None:
    """Return ``ending`` unless it is a script's way to end well."""
    return None if isinstance(ending, SystemExit) and not ending.code else ending


def without_ours(
    trace: types.TracebackType | None,
) -> types.TracebackType | None:
    """Return ``trace`` without the frames that are there only because of ftlab."""
    if trace is None:
        return None
    rest = without_ours(trace.tb_next)
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
