"""A checkpoint on disk: looked at, put into live objects, gone on from."""

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ftlab.records.errors import (
    BadValueError,
    CheckpointError,
    FtlabWarning,
)
from ftlab.records.handle import HandleStack, rebind
from ftlab.records.plain_files import is_folder
from ftlab.replay.checkpoints.contents import (
    ALL,
    differences,
    restore,
)
from ftlab.replay.checkpoints.lacking import TRAINER_STATE, WEIGHTS, lacking
from ftlab.replay.checkpoints.manifest import MANIFEST, Stored
from ftlab.replay.checkpoints.writing import (
    STATE,
    checkpoints_in,
    written_at,
)
from ftlab.rules.words import an
from ftlab.session.integrations.transformers import is_trainer
from ftlab.session.live_training import training_of
from ftlab.views.checkpoint import CheckpointView

_LOADERS = {
    "_load_from_checkpoint": {"weights"},
    "_load_optimizer_and_scheduler": {"optimizer", "schedule"},
    "_load_scaler": (),
    "_load_rng_state": {"rng"},
}
"""Methods by which a Trainer loads, and what it gets from us in their place."""


class SavedCheckpoint(CheckpointView):
    """A checkpoint on disk; made by `safe_save` and `safe_load`.

    Attributes
    ----------
    path
        Its folder.
    step
        How many steps had been made; -1 where that is not known.
    good
        Whether loss, gradients, weights and optimizer state were finite; `why` says
        what was not.
    verified
        Whether every file was read and compared with its digest. Folders that
        ``safe_save`` has not written have none.
    extra
        What was passed as ``extra``.
    """

    def __init__(self, path: Path, stored: Stored | None) -> None:
        manifest = None if stored is None else stored.manifest
        self._stored = stored
        self.path, self.verified = path, stored is not None
        told = manifest or {"step": None, "why": "", "extra": {"of": {}}}
        self.step: int = -1 if told["step"] is None else int(told["step"])
        self.why: str = told["why"]
        self.good = self.verified and not self.why
        self.extra: dict[str, Any] = dict(told["extra"].get("of", {}))
        super().__init__(lacking(path, manifest), self._what())

    def _what(self) -> str:
        if not self.verified:
            return f"{self.path.name}, without digests"
        where = f"{self.path.name}, verified"
        return where if self.good else f"{where}, not good: {self.why}"

    def restore(
        self,
        target: Any,
        *,
        optimizer: Any = None,
        scheduler: Any = None,
        scaler: Any = None,
        loader: Any = None,
        schedule: bool = True,
        rng: bool = True,
    ) -> None:
        """Put live objects where they were when this was saved, bit for bit.

        Parameters
        ----------
        target
            The model or trainer, built as in the run.
        optimizer, scheduler, scaler, loader
            Those of a hand-written loop; a watch of it knows all but the loader.
        schedule
            Also learning rates, schedule and loader.
        rng
            Also the random generators, as the last thing.

        Raises
        ------
        AttachError
            The model or an optimizer is not the one that was saved.
        CheckpointError
            A file is damaged, or was not written by ``safe_save``.
        """
        stored = self._whole()
        training = training_of(
            target, optimizer, scheduler, scaler, caller="restore", loader=loader
        )
        live, entries = training.live, stored.manifest
        forgotten = [
            name
            for name, section, given in (
                ("optimizer", "optimizers", live.optimizers),
                ("scheduler", "schedulers", live.schedulers or not schedule),
                ("scaler", "scaler", live.scaler),
                ("loader", "loader", live.loader or not schedule),
            )
            if entries[section] and not given
        ]
        left = {"schedule": schedule, "rng": rng}
        restore(stored, live, ALL - {part for part, asked in left.items() if not asked})
        if forgotten:
            passed = ", ".join(f"{name}=..." for name in forgotten)
            msg = (
                f"{self.path.name} holds the state of the {' and '.join(forgotten)}, "
                f"which was not put back: pass {passed}."
            )
            warnings.warn(msg, FtlabWarning, stacklevel=2)

    def differences(
        self,
        target: Any,
        *,
        optimizer: Any = None,
        scheduler: Any = None,
        scaler: Any = None,
        loader: Any = None,
        extra: Mapping[str, Any] | None = None,
    ) -> tuple[str, ...]:
        """Name what live objects have otherwise than the checkpoint, bit for bit.

        Empty right after `restore`: weights, optimizer, schedule, scaler and random
        generators are then as they were. What is not handed over is not compared.
        """
        training = training_of(
            target,
            optimizer,
            scheduler,
            scaler,
            caller="differences",
            loader=loader,
            extra=extra,
        )
        return differences(self._whole(), training.live)

    def resume(self, trainer: Any, **kwargs: Any) -> Any:
        """Call ``trainer.train``, which goes on from here, and return its result.

        The trainer counts and skips batches as with ``resume_from_checkpoint``; what
        it would read from pickles comes from here.

        Parameters
        ----------
        kwargs
            Passed on to ``train``.
        """
        if not is_trainer(trainer):
            msg = (
                f"resume() was given {an(type(trainer).__name__)}; pass the Trainer, "
                "or use restore(model, optimizer=...) in a loop of your own."
            )
            raise BadValueError(msg)
        handles, stored = HandleStack(), self._whole()
        # what orders the samples takes its seed from the generator when it is made
        _loading(trainer, stored, {"rng"})()
        for name, parts in _LOADERS.items():
            handles.add(rebind(trainer, name, _loading(trainer, stored, parts)))
        try:
            return trainer.train(resume_from_checkpoint=str(self.path), **kwargs)
        finally:
            handles.remove()

    def _whole(self) -> Stored:
        if self._stored is None:
            msg = (
                f"{str(self.path)!r} was not written by ftlab.safe_save, so that ftlab "
                "can only say what it lacks. Load it with "
                f"trainer.train(resume_from_checkpoint={str(self.path)!r})."
            )
            raise CheckpointError(msg)
        self._stored.verify()
        return self._stored


def _loading(
    trainer: Any, stored: Stored, parts: Collection[str]
) -> Callable[..., None]:
    def load(*_: Any, **__: Any) -> None:
        restore(stored, training_of(trainer, caller="resume").live, parts)

    return load


def opened(path: Path, second: Path | None) -> SavedCheckpoint:
    """Open one checkpoint, or the last one in a folder that is good and whole.

    Parameters
    ----------
    second
        Where copies are.

    Raises
    ------
    CheckpointError
        There is none, or a file of it is damaged.
    """
    folders = [each for each in (path, second) if each is not None and is_folder(each)]
    if not folders:
        msg = (
            f"{str(path)!r} is no folder; pass the one that safe_save was given: "
            "safe_load('checkpoints')."
        )
        raise CheckpointError(msg)
    if _is_ours(path):
        copies = [] if second is None else [second / path.name]
        return _first_whole([path, *filter(_is_ours, copies)], good=False)
    found = [each for folder in folders[::-1] for each in checkpoints_in(folder)]
    ours = sorted(filter(_is_ours, found), key=written_at)
    if ours:
        return _first_whole(ours[::-1], good=True)
    if any(any(path.glob(each)) for each in (TRAINER_STATE, *WEIGHTS)):
        return SavedCheckpoint(path, None)
    msg = (
        f"{str(path)!r} holds no checkpoint of ftlab.safe_save"
        + (f"; pass one of what is there: {found[-1].name}" if found else "")
        + "."
    )
    raise CheckpointError(msg)


def _is_ours(path: Path) -> bool:
    return (path / MANIFEST).exists() or (path / STATE).exists()


def _first_whole(paths: Sequence[Path], *, good: bool) -> SavedCheckpoint:
    """Return the first that is whole, and ``good`` if asked; one warning for others."""
    passed: list[str] = []
    for path in paths:
        try:
            stored = Stored(path)
            stored.verify()
        except CheckpointError as error:
            if len(paths) == 1:
                raise
            passed.append(str(error).partition(" Load another")[0])
            continue
        if not (good and stored.manifest["why"]):
            if passed:
                msg = f"{path.name} is taken. {' '.join(passed)}"
                warnings.warn(msg, FtlabWarning, stacklevel=4)
            return SavedCheckpoint(path, stored)
        passed.append(f"{path.name} is not good: {stored.manifest['why']}.")
    msg = (
        f"None of {len(paths)} checkpoints can be taken: {' '.join(passed)} One "
        "that is not good can be named: safe_load('checkpoints/checkpoint-12')."
    )
    raise CheckpointError(msg)
