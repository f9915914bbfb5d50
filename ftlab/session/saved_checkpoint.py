"""A checkpoint on disk: looked at, put into live objects, gone on from."""

import warnings
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from ftlab.records.errors import BadValueError, CheckpointError, FtlabWarning
from ftlab.records.handle import HandleStack, rebind
from ftlab.records.outcome import Outcome
from ftlab.replay.checkpoints.contents import ALL, differences, restore
from ftlab.replay.checkpoints.folder import MANIFEST, STATE, Stored, checkpoints_in
from ftlab.replay.checkpoints.foreign import verify_files
from ftlab.replay.checkpoints.lacking import TRAINER_STATE, WEIGHTS, lacking
from ftlab.replay.snapshots.codec import Unpacker
from ftlab.rules.words import an
from ftlab.session.integrations.transformers import is_trainer
from ftlab.session.live_training import training_of
from ftlab.views.executions.proof import ProofView

_LOADERS: dict[str, Collection[str]] = {
    "_load_from_checkpoint": {"weights"},
    "_load_optimizer_and_scheduler": {"optimizer", "schedule"},
    "_load_scaler": (),
    "_load_rng_state": {"rng"},
}
"""Methods by which a Trainer loads, and what it gets from us in their place."""


class SavedCheckpoint(ProofView):
    """A checkpoint on disk; made by `safe_save` and `safe_load`.

    Shown, it lists what an exact resume needs, and what of it is there.

    Attributes
    ----------
    path, step, extra
        Its folder, how many steps had been made, and what was passed as ``extra``.
    why
        What was not finite in loss, gradients, weights or moments; empty of a good one.
    verified
        Whether all is as written; there are no digests of what others have written.
    """

    def __init__(self, path: Path, stored: Stored | None) -> None:
        manifest = None if stored is None else stored.manifest
        told = manifest or {"step": -1, "why": "", "extra": {"is": "dict", "of": {}}}
        self.path, self._stored, self.verified = path, stored, stored is not None
        self.step, self.why = int(told["step"]), str(told["why"])
        held: Any = stored
        self.extra: dict[str, Any] = Unpacker(held).unpack(told["extra"])
        how = "verified" if self.verified else "without digests"
        title = f"{path.name}, {how}" + (f", not good: {self.why}" if self.why else "")
        super().__init__(lacking(path, manifest), title=title)

    @property
    def lacks(self) -> tuple[str, ...]:
        """What an exact resume needs and is not there."""
        return tuple(each.name for each in self.broken)

    def headline(self) -> str:
        """Say what lacks."""
        return f"an exact resume lacks {', '.join(self.lacks) or 'nothing'}"

    def _summarise(self) -> tuple[Outcome, ...]:
        return tuple(self)

    def restore(
        self, target: Any, *, schedule: bool = True, rng: bool = True, **parts: Any
    ) -> None:
        """Put live objects where they were when this was saved, bit for bit.

        Parameters
        ----------
        target
            The model or trainer, built as in the run.
        schedule, rng
            Also learning rates and schedule; also the random generators.
        parts
            ``optimizer=``, ``scheduler=``, ``scaler=`` of a loop without a watch.

        Raises
        ------
        AttachError, CheckpointError
            It is another model or optimizer; a file is damaged.
        """
        stored, live = self._whole(), training_of(target, "restore", **parts).live
        left = {"schedule": schedule, "rng": rng}
        restore(stored, live, ALL - {part for part, asked in left.items() if not asked})
        sections = ("optimizers", "schedulers", "scaler") if schedule else ()
        lost = [s for s in sections if stored.manifest[s] and not getattr(live, s)]
        if lost:
            msg = f"{self.path.name} holds {lost[0]}, not put back: pass them as well."
            warnings.warn(msg, FtlabWarning, stacklevel=2)

    def differences(self, target: Any, **parts: Any) -> tuple[str, ...]:
        """Name what live objects have otherwise than the checkpoint, bit for bit.

        None right after `restore`. What is not handed over is not compared.
        """
        live = training_of(target, "differences", **parts).live
        return differences(self._whole(), live)

    def resume(self, trainer: Any, **kwargs: Any) -> Any:
        """Call ``trainer.train(**kwargs)``, which goes on from here; return its result.

        It counts and skips batches as with ``resume_from_checkpoint``; what it would
        read from pickles comes from here.
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
                f"{str(self.path)!r} was not written by ftlab.safe_save: load it with "
                f"trainer.train(resume_from_checkpoint={str(self.path)!r})."
            )
            raise CheckpointError(msg)
        self._stored.verify()
        return self._stored


def _loading(
    trainer: Any, stored: Stored, parts: Collection[str]
) -> Callable[..., None]:
    return lambda *_, **__: restore(stored, training_of(trainer, "resume").live, parts)


def opened(path: Path, second: Path | None) -> SavedCheckpoint:
    """Open one checkpoint, or the last one in a folder that is good and whole."""
    others = [] if second is None else [second]
    if (path / MANIFEST).exists() or (path / STATE).exists():
        return _first_whole([path, *(each / path.name for each in others)], good=False)
    if ours := checkpoints_in(*others, path):
        return _first_whole(ours[::-1], good=True)
    if any(any(path.glob(each)) for each in (TRAINER_STATE, *WEIGHTS)):
        verify_files(path)
        return SavedCheckpoint(path, None)
    msg = (
        f"{str(path)!r} holds no checkpoint; pass the folder that safe_save was given, "
        "or one that a Trainer has written: safe_load('out/checkpoint-500')."
    )
    raise CheckpointError(msg)


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
        if good and stored.manifest["why"]:
            passed.append(f"{path.name} is not good: {stored.manifest['why']}.")
            continue
        if passed:
            msg = f"{path.name} is taken. {' '.join(passed)}"
            warnings.warn(msg, FtlabWarning, stacklevel=4)
        return SavedCheckpoint(path, stored)
    msg = (
        f"None of {len(paths)} checkpoints can be taken: {' '.join(passed)} Name one "
        "that is not good to take it: safe_load('checkpoints/checkpoint-12')."
    )
    raise CheckpointError(msg)
