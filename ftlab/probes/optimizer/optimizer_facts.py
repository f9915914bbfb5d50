"""Facts of optimizers and schedulers: what they hold, and what they were asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ftlab.probes.naming import NamedParameter, named_parameters
from ftlab.probes.optimizer.optimizer_states import misfits
from ftlab.probes.optimizer.remains import GoneOptimizer, GoneScheduler, kind_of
from ftlab.probes.optimizer.waiting_optimizers import waiting
from ftlab.probes.plain import dtype_name, jsonable, number, readable
from ftlab.probes.taps.optimizer import unwrapped

_FLAT = ("deepspeed", "apex", "fairscale")
"""Libraries whose optimizers hold flat copies: nothing can be said of them by id."""

_GROUP_VALUES = ("lr", "initial_lr", "weight_decay", "momentum", "eps")

_GROUP_FLAGS = ("decoupled_weight_decay", "amsgrad", "maximize")


def optimizer_facts(
    model: torch.nn.Module,
    optimizers: Sequence[Any],
    ids: Mapping[str, int] | None = None,
) -> tuple[dict[str, Any], ...]:
    """Read everything that `ftlab.records.facts.Facts.optimizers` holds.

    Parameters
    ----------
    ids
        Ids of the run by parameter name, where known: then groups list ``ids`` too.
    """
    bare = [unwrapped(each) for each in optimizers]
    entries = named_parameters(model)
    held = {id(p) for each in bare for group in _groups(each) for p in group["params"]}
    missing = [
        e for e in entries if e.parameter.requires_grad and id(e.parameter) not in held
    ]
    if any(_is_flat(each) for each in bare):
        missing = []
    facts = []
    for index, optimizer in enumerate(bare):
        one = _optimizer(optimizer, entries, missing, ids)
        if index == 0:
            one["missing"] = [entry.name for entry in missing]
            one["waiting"] = waiting(model, missing, held)
        facts.append(one)
    return tuple(facts)


def scheduler_facts(
    schedulers: Sequence[Any], optimizers: Sequence[Any]
) -> tuple[dict[str, Any], ...]:
    """Read everything that `ftlab.records.facts.Facts.schedulers` holds."""
    bare = [unwrapped(each) for each in optimizers]
    known = [_inside(each) for each in schedulers]
    return tuple(_scheduler(each, bare) | _holds(each, known) for each in known)


def _optimizer(
    optimizer: Any,
    entries: Sequence[NamedParameter],
    missing: Sequence[NamedParameter],
    ids: Mapping[str, int] | None,
) -> dict[str, Any]:
    names = {id(entry.parameter): entry.name for entry in entries}
    defaults, kind = getattr(optimizer, "defaults", {}), kind_of(optimizer)
    return readable(
        **{"class": lambda: kind.__name__},
        module=lambda: kind.__module__,
        fused=lambda: _flag(defaults.get("fused")),
        foreach=lambda: _flag(defaults.get("foreach")),
        defaults=lambda: _numbers(defaults),
        groups=lambda: [
            _group(group, names, ids) | _unread(group, defaults)
            for group in _groups(optimizer)
        ],
        misfits=lambda: _misfits(optimizer, names),
        foreign=lambda: (
            [] if _is_flat(optimizer) else _foreign(optimizer, names, missing)
        ),
    )


def _misfits(optimizer: Any, names: Mapping[int, str]) -> list[str]:
    """Name the model's parameters whose state has another shape than they have."""
    if isinstance(optimizer, GoneOptimizer):
        return optimizer.misfits
    states = getattr(optimizer, "state", {})
    return [
        names[id(parameter)]
        for parameter, state in states.items()
        if id(parameter) in names and misfits(optimizer, parameter, state)
    ]


def _groups(optimizer: Any) -> list[dict[str, Any]]:
    groups = getattr(optimizer, "param_groups", None)
    return groups if isinstance(groups, list) else []


def _is_flat(optimizer: Any) -> bool:
    return kind_of(optimizer).__module__.partition(".")[0] in _FLAT


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)


def _group(
    group: Mapping[str, Any], names: Mapping[int, str], ids: Mapping[str, int] | None
) -> dict[str, Any]:
    """Read one group: its values and the parameters of the model that it holds."""
    known = [names[id(p)] for p in group["params"] if id(p) in names]
    facts: dict[str, Any] = {
        key: number(group[key]) for key in _GROUP_VALUES if key in group
    }
    facts |= {key: bool(group[key]) for key in _GROUP_FLAGS if key in group}
    if isinstance(group.get("betas"), tuple | list):
        facts["betas"] = [number(each) for each in group["betas"]]
    facts |= {"count": len(group["params"]), "names": known}
    if ids is not None:
        facts["ids"] = [ids[name] for name in known if name in ids]
    return facts


def _unread(
    group: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, dict[str, float | None]]:
    """Read the numbers of a group that its optimizer knows nothing of."""
    unread = _numbers({k: v for k, v in group.items() if k not in defaults})
    return {"unread": unread} if unread else {}


def _numbers(values: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        key: number(value)
        for key, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _foreign(
    optimizer: Any, names: Mapping[int, str], missing: Sequence[NamedParameter]
) -> list[dict[str, Any]]:
    """Describe what the optimizer holds and the model does not have."""
    found = [
        (place, number_in_group, parameter)
        for place, group in enumerate(_groups(optimizer))
        for number_in_group, parameter in enumerate(group["params"])
        if id(parameter) not in names
    ]
    hints = _hints([parameter for _, _, parameter in found], missing)
    return [
        {
            "shape": list(parameter.shape),
            "dtype": dtype_name(parameter.dtype),
            "group": group,
            "index": index,
            "name_hint": hint,
        }
        for (group, index, parameter), hint in zip(found, hints, strict=True)
    ]


def _hints(
    foreign: Sequence[torch.Tensor], missing: Sequence[NamedParameter]
) -> list[str]:
    """Name what probably took the place of each: ``""`` where more than one could have.

    Where the forgotten parameters are, in order, exactly those that are missing, the
    model was built anew and the order tells them apart.
    """
    kinds = [_kind(parameter) for parameter in foreign]
    wanted = [_kind(entry.parameter) for entry in missing]
    if kinds == wanted:
        return [entry.name for entry in missing]
    hints = []
    for kind in kinds:
        alike = [e.name for e in missing if _kind(e.parameter) == kind]
        hints.append(alike[0] if len(alike) == 1 and kinds.count(kind) == 1 else "")
    return hints


def _kind(parameter: torch.Tensor) -> tuple[torch.Size, torch.dtype]:
    return parameter.shape, parameter.dtype


def _inside(scheduler: Any) -> Any:
    """Return the scheduler within accelerate's wrapper."""
    inside = vars(scheduler).get("scheduler")
    return scheduler if inside is None else inside


def _scheduler(scheduler: Any, optimizers: Sequence[Any]) -> dict[str, Any]:
    if isinstance(scheduler, GoneScheduler):
        return scheduler.facts

    def index() -> int | None:
        own = unwrapped(scheduler.optimizer)
        return next((i for i, each in enumerate(optimizers) if each is own), None)

    return readable(
        **{"class": lambda: type(scheduler).__name__},
        optimizer_index=index,
        asked=lambda: _asked(scheduler),
    )


def _holds(scheduler: Any, known: Sequence[Any]) -> dict[str, list[int]]:
    """Return the indices of the known schedulers that a chain steps itself."""
    held = {id(each) for each in _held(scheduler)}
    holds = [index for index, each in enumerate(known) if id(each) in held]
    return {"holds": holds} if holds else {}


def _held(scheduler: Any) -> list[Any]:
    inner = vars(scheduler).get("_schedulers")
    own = list(inner) if isinstance(inner, list | tuple) else []
    return [*own, *(below for each in own for below in _held(each))]


def _asked(scheduler: Any) -> dict[str, Any]:
    """Read what the schedule was asked to be.

    A schedule of ``transformers.get_scheduler`` is a LambdaLR over a partial, whose
    keywords are the answer; torch's own keep their arguments as attributes.
    """
    asked: dict[str, Any] = {}
    functions = [f for f in getattr(scheduler, "lr_lambdas", ()) if f is not None]
    if functions and all(each is functions[0] for each in functions):
        function = functions[0]
        asked["schedule"] = getattr(getattr(function, "func", function), "__name__", "")
        asked |= jsonable(getattr(function, "keywords", {}))
    inner = vars(scheduler).get("_schedulers")
    if isinstance(inner, list):
        asked["schedulers"] = [
            {"class": type(each).__name__} | _asked(each) for each in inner
        ]
        asked["milestones"] = jsonable(vars(scheduler).get("_milestones", []))
    running = (
        *("last_epoch", "best", "num_bad_epochs", "cooldown_counter", "verbose"),
        *("T_cur", "T_i"),
    )
    for name, value in vars(scheduler).items():
        plain = isinstance(value, bool | int | float | str)
        if plain and not name.startswith("_") and name not in running:
            asked[name] = value
    milestones = vars(scheduler).get("milestones")
    if isinstance(milestones, Mapping):  # MultiStepLR counts them
        asked["milestones"] = sorted(
            float(m) for m, n in milestones.items() for _ in range(n)
        )
    asked |= readable(
        base_lrs=lambda: [number(each) for each in scheduler.base_lrs],
        **_cycle_readers(scheduler),
    )
    return asked


def _cycle_readers(scheduler: Any) -> dict[str, Callable[[], Any]]:
    """Give readers of lists, which OneCycleLR keeps in its groups and in private."""
    groups = scheduler.optimizer.param_groups
    lowest = vars(scheduler).get("min_lrs")  # of ReduceLROnPlateau
    return {
        "phases": lambda: jsonable(vars(scheduler)["_schedule_phases"]),
        "anneal": lambda: vars(scheduler)["_anneal_func_type"],
        "max_lrs": lambda: [number(g["max_lr"]) for g in groups],
        "min_lrs": lambda: [
            number(each) for each in lowest or [g["min_lr"] for g in groups]
        ],
    }
