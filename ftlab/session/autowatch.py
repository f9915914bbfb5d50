"""Watch code that does not know of ftlab: an unchanged cell, an unedited script.

Who calls whom: `Autowatch` wraps ``Trainer.train`` and the call of modules on their
classes, and hooks all optimizers, for as long as it is entered. A trainer is watched
when its ``train`` is called. A hand-written loop is watched at the first training call
of a module whose optimizer can be found among the variables (`ftlab.session.search`);
where it cannot, the optimizer's first step shows it, and the watch begins with the call
that follows. Modules are wrapped rather than hooked: a global hook makes
``torch.compile`` warn, and hooks that it adds to the module at hand would miss the call
that is under way. Its loader has been begun before that, and is heard from the start.
"""

import contextlib
import functools
import inspect
import sys
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ftlab.records.by_id import ById
from ftlab.records.errors import AttachError, FtlabWarning
from ftlab.records.handle import HandleStack, rebind
from ftlab.records.unbroken import unbroken
from ftlab.runlog.folder import process_rank, refuse_taken, run_dir_of
from ftlab.session.import_hook import when_imported

if TYPE_CHECKING:
    from ftlab.session.search import Loop
    from ftlab.session.watch import Watch


class Autowatch:
    """Watch whatever trains while this is entered.

    Parameters
    ----------
    found
        Called with each new watch, before its training begins.
    namespaces
        Variables to search besides those of the code that runs.
    run_dir
        Folder of the first run's log; a second run adds ``-2``, and so on.
    activations
        Measure activations too.
    before
        Called before each watch, with the trainer, or with None and the model, the
        optimizers, and the call of a loop that is about to be made.

    Attributes
    ----------
    watches : list of Watch
        In the order in which training began.
    """

    def __init__(
        self,
        found: Callable[["Watch"], None],
        *,
        namespaces: Sequence[Mapping[str, Any]] = (),
        run_dir: str | Path | None = None,
        activations: bool = False,
        before: Callable[..., object] | None = None,
    ) -> None:
        self._before = before
        self.watches: list[Watch] = []
        self._found = found
        self._namespaces = tuple(namespaces)
        self._run_dir = run_dir_of(run_dir)
        self._activations = activations
        self._handles = HandleStack()
        self._calls = HandleStack()
        self._loaders = HandleStack()
        self._stopped = False
        self._inside = threading.local()
        self._model: weakref.ref[Any] | None = None
        self._stepped: ById[Any, None] = ById()
        self._trained: ById[Any, None] = ById()

    def __enter__(self) -> Self:
        if self._run_dir is not None:  # before anything runs
            refuse_taken(self._run_dir, process_rank())
        with unbroken():
            watch_for = {
                "torch": self._attach_torch,
                "transformers.trainer": self._attach_trainer,
            }
            for name, attach in watch_for.items():
                self._handles.add(when_imported(name, attach))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.stop(error)

    def stop(self, error: BaseException | None) -> None:
        """Take everything off and end all watches; ``error`` is what ended the code.

        Only the first call counts.
        """
        if self._stopped:
            return
        self._stopped, self._model = True, None
        with unbroken(), contextlib.ExitStack() as last:
            # only then: a watch reads at its end what the workers have told
            last.callback(self._loaders.remove)
            last.callback(self._end_watches, error)
            self._handles.remove()

    def _end_watches(self, error: BaseException | None) -> None:
        kind = None if error is None else type(error)
        trace = None if error is None else error.__traceback__
        for watch in self.watches:
            watch.__exit__(kind, error, trace)

    # --- a trainer ----------------------------------------------------------------

    def _attach_trainer(self, module: types.ModuleType) -> None:
        original = module.Trainer.train

        @functools.wraps(original)
        def train(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._busy() or _is_linked(trainer):
                return original(trainer, *args, **kwargs)
            # `watch` wraps the train() that it finds on the instance. A subclass's own
            # train() called us through super() and must not run again.
            self._prepare(trainer)
            handle = rebind(trainer, "train", functools.partial(original, trainer))
            watched = self._watch(trainer)
            try:
                with self._quiet():
                    return trainer.train(*args, **kwargs)
            finally:
                with unbroken():
                    if watched is not None:
                        watched.detach()
                    handle.remove()
                    self._trained[trainer.model] = None

        self._handles.add(rebind(module.Trainer, "train", train))

    # --- a hand-written loop ------------------------------------------------------

    def _attach_torch(self, torch: types.ModuleType) -> None:
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        from ftlab.probes.seeds.loader_hearing import hear_early

        self._loaders.add(hear_early())
        self._handles.add(register_optimizer_step_pre_hook(self._see_step))
        self._handles.add(self._calls)
        self._look_at_calls(torch)

    def _look_at_calls(self, torch: types.ModuleType) -> None:
        original = torch.nn.Module.__call__

        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            if (
                torch.compiler.is_compiling()
                or not torch.is_grad_enabled()
                or self._busy()
            ):
                return original(module, *args, **kwargs)
            with self._quiet():
                given = (args, kwargs)
                self._see_call(module, given, inspect.currentframe())
                return original(module, *args, **kwargs)

        self._calls.add(rebind(torch.nn.Module, "__call__", call))

    def _see_call(
        self, module: Any, given: tuple[Any, Any], frame: types.FrameType | None
    ) -> None:
        try:
            loop = self._find(module, frame)
        except Exception as error:  # noqa: BLE001  the user's loop goes on unwatched
            self._calls.remove()
            _warn(f"Looking for the optimizer failed with {error!r}")
            return
        if loop is None:
            return
        self._calls.remove()
        self._stepped.clear()
        if module is loop.model:
            objects = {"model": module, "optimizer": loop.optimizers, "given": given}
            self._prepare(None, tokenizer=loop.tokenizer, **objects)
        self._watch(
            loop.model,
            optimizer=loop.optimizers,
            scheduler=loop.schedulers,
            scaler=loop.scaler,
            tokenizer=loop.tokenizer,
        )
        # a loop over several models: look again when this one is gone
        look_again = functools.partial(self._look_at_calls, sys.modules["torch"])
        self._model = weakref.ref(loop.model, lambda _: look_again())

    def _find(self, module: Any, frame: types.FrameType | None) -> "Loop | None":
        from ftlab.session import search
        from ftlab.session.observation import is_watched

        found = [*search.frame_objects(frame), *self._stepped]
        for namespace in self._namespaces:
            found += search.objects(namespace)
        loop = search.find_loop(found, module)
        if loop is None and self._stepped and any(module.parameters()):
            # it steps, but nothing here: an optimizer of parameters that are gone
            loop = search.complete(search.Loop(module, list(self._stepped)), found)
        if loop is None or loop.model in self._trained or is_watched(loop.model):
            return None
        return loop

    def _see_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if len(self._calls) and not self._busy():
            self._stepped[optimizer] = None

    # --- both ---------------------------------------------------------------------

    def _prepare(self, target: Any, **objects: Any) -> None:
        if self._before is None:
            return
        try:
            with self._quiet():
                self._before(target, **objects)
        except Exception as error:  # noqa: BLE001  the user's training goes on
            _warn(f"What comes before the watch failed: {error}")

    def _watch(self, target: Any, **objects: Any) -> "Watch | None":
        from ftlab.session.watch import watch

        try:
            watched = watch(
                target,
                **objects,
                run_dir=self._folder(),
                activations=self._activations,
            )
        except Exception as error:  # noqa: BLE001  the user's training goes on unwatched
            _warn(f"{type(target).__name__} is not watched: {error}")
            return None
        self.watches.append(watched)
        try:
            self._found(watched)
        except Exception as error:  # noqa: BLE001  it is watched, though unseen
            _warn(f"Showing the watch failed with {error!r}")
        return watched

    def _folder(self) -> Path | None:
        if self._run_dir is None or not self.watches:
            return self._run_dir
        return self._run_dir.with_name(f"{self._run_dir.name}-{len(self.watches) + 1}")

    def _busy(self) -> bool:
        return getattr(self._inside, "call", False)

    @contextlib.contextmanager
    def _quiet(self) -> Iterator[None]:
        """Ignore what is called within a call that has been seen already."""
        before = self._busy()
        self._inside.call = True
        try:
            yield
        finally:
            self._inside.call = before


def find_target(namespace: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Find what ``%ftlab watch`` means when nothing is named.

    Returns
    -------
    target, keywords
        For `ftlab.watch`: the one trainer, or the one model that an optimizer trains.

    Raises
    ------
    AttachError
        There is none, or several trainers.
    """
    from ftlab.session import search
    from ftlab.session.integrations.transformers import is_trainer

    trainers = {id(it): it for it in namespace.values() if is_trainer(it)}
    if len(trainers) == 1:
        return next(iter(trainers.values())), {}
    if trainers:
        names = [name for name, it in namespace.items() if id(it) in trainers]
        msg = (
            f"There are {len(trainers)} trainers ({', '.join(sorted(names))}); "
            f"name one: %ftlab watch {sorted(names)[0]}."
        )
        raise AttachError(msg)
    loop = search.find_loop(search.objects(namespace))
    if loop is None:
        msg = (
            "No variable holds a Trainer, or an optimizer with the model that it "
            "trains. Create them first, or name them: %ftlab watch model, optimizer."
        )
        raise AttachError(msg)
    return loop.model, {
        "optimizer": loop.optimizers,
        "scheduler": loop.schedulers,
        "scaler": loop.scaler,
        "tokenizer": loop.tokenizer,
    }


def _is_linked(trainer: Any) -> bool:
    """Tell whether the user watches ``trainer`` already; without loading the link."""
    link = getattr(vars(trainer).get("train"), "__self__", None)
    return type(link).__module__ == "ftlab.session.integrations.transformers"


def _warn(message: str) -> None:
    warnings.warn(message, FtlabWarning, stacklevel=3)
