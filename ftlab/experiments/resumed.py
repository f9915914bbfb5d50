"""EXP015, resumed: steps after saving and loading are those without.

## What must hold
A step is made and saved, and two more are made. Put back to before all of it, with an
optimizer that knows nothing, and loaded, the model makes the same two.

## Why
A buffer that is not in the file, moments that ``state_dict`` leaves out, a schedule
that begins anew or a head beside the adapter makes another training of one that is
resumed, and only the loss shows it, for a while.

## When it does not apply
No optimizer; ``save_only_model``, DeepSpeed and FSDP. A Trainer saves and loads with
its own methods, random state included; a loop by ``state_dict`` and ``load_state_dict``
of model and optimizer, where its schedule, its random state and what its functions keep
are not known, and taken as saved. So are generators that modules hold. No loss is
scaled.

## What to try
``register_buffer(..., persistent=True)``; moments in ``optimizer.state``; what is
trained beside an adapter in ``modules_to_save``.

## References
- transformers, `Trainer.train`, ``resume_from_checkpoint``
"""

import copy
import tempfile
from collections.abc import Callable
from typing import Any

import torch

from ftlab.executions.listening import shared_name
from ftlab.executions.pairs import training
from ftlab.executions.side import NotApplicableError, Start
from ftlab.experiments.experiment import Experiment
from ftlab.experiments.live import Live
from ftlab.experiments.update_rule import CLOSE
from ftlab.records.finding import Place
from ftlab.records.outcome import Outcome
from ftlab.replay.capsules.side_state import SideState

STEPS = 2
"""Steps after loading: a schedule that was lost shows in the second."""
SCHEDULED = 10
"""Steps of the schedule of a trainer that has none yet."""
FACTOR = -2.0
"""Of the first step's gradients: its moments must be others than the next ones make."""
SAVE = ("_save_optimizer_and_scheduler", "_save_scaler", "_save_rng_state")
LOAD = (
    "_load_from_checkpoint",
    *(name.replace("_save", "_load") for name in SAVE),
)

Values = dict[str, torch.Tensor]


class Resumed(Experiment):
    """Two steps, and the same after saving and loading."""

    code = "EXP015"
    name = "resumed"
    relation = "after saving and loading, the next steps are those without"
    cause = "Something that the next step depends on is not saved, or not loaded."
    fix = (
        "Keep what changes in persistent buffers, moments in optimizer.state, and list "
        "what is trained beside an adapter in modules_to_save."
    )

    def run(self, live: Live) -> Outcome:
        """Go on, and go back; what was changed is undone by who asked for it."""
        optimizers = [getattr(each, "optimizer", each) for each in live.optimizers]
        if not optimizers:
            msg = "there is no optimizer; pass optimizer="
            raise NotApplicableError(msg)
        kept = [SideState(each) for each in optimizers]
        try:
            return self._resumed(live, optimizers, _scheduler(live))
        finally:
            for each in kept:  # a new schedule sets rates
                each.restore()

    def _resumed(self, live: Live, optimizers: list[Any], scheduler: Any) -> Outcome:
        model = live.model
        with tempfile.TemporaryDirectory() as folder, training(model):
            start, before = Start([live.side()]), _trained(model)
            others = [*optimizers, *([] if scheduler is None else [scheduler])]
            kept = [SideState(each) for each in others]
            _steps(live, optimizers, scheduler, [FACTOR])
            saved, buffers = _trained(model), _copied(model.named_buffers())
            load = _saved(live, optimizers, folder)
            there = Start([live.side()])
            _steps(live, optimizers, scheduler, [1.0] * STEPS)
            continued = _trained(model)
            start.restore_modules()
            for each in kept:
                each.restore()
            _put(model, before)
            for each in optimizers:
                each.state.clear()
            there.restore_generators()
            load()
            lost = [n for n, v in _trained(model).items() if not _near(v, saved[n])]
            now = _copied(model.named_buffers())
            forgotten = [n for n, v in buffers.items() if not _near(v, now.get(n))]
            _steps(live, optimizers, scheduler, [1.0] * STEPS)
        apart = {
            name: _missed(saved[name], value, continued[name])
            for name, value in _trained(model).items()
        }
        return self._told(lost, forgotten, apart)

    def _told(
        self, lost: list[str], forgotten: list[str], apart: dict[str, float]
    ) -> Outcome:
        worst = max(apart, key=lambda name: apart[name], default="")
        if not worst:
            msg = "the step trains nothing"
            raise NotApplicableError(msg)
        evidence: dict[str, float | int | str] = {"relative": apart[worst]}
        if not lost and apart[worst] <= CLOSE:
            says = f"{len(apart)} weights go on as if nothing had been"
            return self.outcome("holds", says, evidence=evidence)
        if lost:
            says = f"{len(lost)} weights are not loaded as they were, such as {lost[0]}"
        else:
            says = (
                f"the steps after loading change {worst} otherwise, by "
                f"{apart[worst]:.0%} of its update"
            )
            if forgotten:
                says += f"; the buffer {forgotten[0]} is not what it was"
        names = lost or [n for n in (worst, *apart) if apart[n] > CLOSE]
        places = tuple(Place("param", name) for name in dict.fromkeys(names))
        return self.outcome("broken", says, places=places, evidence=evidence)


def _scheduler(live: Live) -> Any:
    """Return the trainer's schedule; one that there is none of yet is made."""
    trainer = live.trainer
    if trainer is None:
        return None
    for name in ("is_deepspeed_enabled", "is_fsdp_enabled"):
        if getattr(trainer, name, False):
            msg = "its shards are saved by others"
            raise NotApplicableError(msg)
    if getattr(trainer.args, "save_only_model", False):
        msg = "save_only_model=True: nothing of the step is saved"
        raise NotApplicableError(msg)
    trainer.optimizer = live.optimizers[0]  # which prove has made, and forgets
    if getattr(trainer, "lr_scheduler", None) is None:
        trainer.create_scheduler(SCHEDULED, trainer.optimizer)
    needs_metrics = hasattr(trainer.lr_scheduler, "patience")
    return None if needs_metrics else trainer.lr_scheduler


def _steps(live: Live, optimizers: Any, scheduler: Any, factors: list[float]) -> None:
    for factor in factors:
        live.model.zero_grad()
        live.computed().backward()
        for parameter in live.model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(factor)
        for each in (*optimizers, *([] if scheduler is None else [scheduler])):
            each.step()


def _saved(live: Live, optimizers: Any, folder: str) -> Callable[[], None]:
    """Save, and return what loads it again."""
    model, trainer = live.model, live.trainer
    if trainer is not None:
        trainer.save_model(folder, _internal_call=True)
        for name in SAVE:
            getattr(trainer, name)(folder)

        def load() -> None:
            torch.manual_seed(SCHEDULED)
            for name in LOAD:
                getattr(trainer, name)(folder)

        return load
    named = dict(model.named_parameters())
    frozen = tuple(
        f"{n.rpartition('.')[0]}." for n, p in named.items() if not p.requires_grad
    )
    own = {n for n, p in named.items() if p.requires_grad} | {
        n for n, _ in model.named_buffers()
    }
    held = {
        key: value
        for key, value in model.state_dict().items()
        if key in own or not key.startswith(frozen)  # a base of few bits is not loaded
    }
    states = copy.deepcopy((held, [each.state_dict() for each in optimizers]))

    def restore() -> None:
        model.load_state_dict(states[0], strict=False)
        for each, state in zip(optimizers, states[1], strict=True):
            each.load_state_dict(state)

    return restore


def _trained(model: Any) -> Values:
    return _copied((n, p) for n, p in model.named_parameters() if p.requires_grad)


def _copied(named: Any) -> Values:
    return {shared_name(name): each.detach().clone() for name, each in named}


def _put(model: Any, values: Values) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(values[shared_name(name)])


def _near(one: torch.Tensor, other: torch.Tensor | None) -> bool:
    if other is None or not one.is_floating_point():
        return other is not None and torch.equal(one, other)
    eps = torch.finfo(one.dtype).eps
    return torch.allclose(one, other, rtol=2 * eps, atol=0, equal_nan=True)


def _missed(saved: torch.Tensor, value: torch.Tensor, there: torch.Tensor) -> float:
    """Return the share of an update that is missed, beyond the weight's rounding."""
    miss = (value.double() - there.double()).norm()
    update = (there.double() - saved.double()).norm()
    rounding = 2 * torch.finfo(saved.dtype).eps * saved.double().norm()
    return float((miss - rounding).clamp(min=0) / update.clamp(min=1e-30))
