"""Facts: what is read of the live objects before a run, and again when it changes.

Nothing here raises for a strange object: what cannot be read is absent. Reading walks
the whole model; `facts_signature` says for next to nothing whether that is called for.
"""

import functools
import importlib.metadata
import os
import platform
import sys
import weakref
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ftlab.probes.adapter.start_facts import start_facts
from ftlab.probes.compilation.compiled_facts import hooks_signature
from ftlab.probes.model.model_facts import model_facts
from ftlab.probes.optimizer.optimizer_facts import optimizer_facts, scheduler_facts
from ftlab.probes.optimizer.remains import GoneOptimizer
from ftlab.probes.plain import jsonable, readable
from ftlab.probes.quantisation.foreign_scales import writes
from ftlab.probes.quantisation.four_bit_facts import packing_signature
from ftlab.probes.seeds.dropouts import dropouts_of
from ftlab.probes.seeds.randomness import randomness_facts
from ftlab.probes.subject import Subject
from ftlab.records.attributes import attribute_of
from ftlab.records.facts import Facts

PACKAGES = (
    "ftlab",
    "torch",
    "transformers",
    "peft",
    "accelerate",
    "trl",
    "bitsandbytes",
    "datasets",
    "tokenizers",
    "safetensors",
    "numpy",
)
"""Packages whose versions are recorded where they are installed."""

WALK_EVERY = 16
"""Calls of `facts_signature` between two walks over the model."""


def read_facts(
    subject: Subject, step: int, ids: Mapping[str, int] | None = None
) -> Facts:
    """Read everything that a rule may need and that is no time series.

    Parameters
    ----------
    step
        The step from which on the facts hold.
    ids
        Ids of the run by parameter name, where known.
    """
    model = subject.model
    found = readable(
        versions=versions,
        model=lambda: model_facts(model) | {"start": start_facts(subject)},
        optimizers=lambda: optimizer_facts(model, subject.optimizers, ids),
        schedulers=lambda: scheduler_facts(subject.schedulers, subject.optimizers),
        training=lambda: _training(subject),
    )
    subject.remember(found.get("optimizers", ()), found.get("schedulers", ()))
    return Facts(step=step, **found)


@functools.cache
def _installed() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    if torch.version.cuda:
        found["cuda"] = torch.version.cuda
    return found


def versions() -> dict[str, str]:
    """Give the versions of Python, CUDA and the packages that matter."""
    return dict(_installed())


def _training(subject: Subject) -> dict[str, Any]:
    """Merge what the trainer told with what the subject shows."""
    readers: dict[str, Callable[[], Any]] = {
        "tokenizer": lambda: tokenizer_facts(subject.tokenizer),
        "world_size": _world_size,
        "randomness": functools.partial(_randomness, subject),
    }
    told = {k: functools.partial(jsonable, v) for k, v in subject.training.items()}
    facts = dict(subject.scaling) | readable(**readers | told)
    return {name: value for name, value in facts.items() if value not in ({}, "")}


_begun: "weakref.WeakKeyDictionary[Subject, dict[str, Any]]"
_begun = weakref.WeakKeyDictionary()


def _randomness(subject: Subject) -> dict[str, Any]:
    """Read once what the run's random numbers hang on: as it begins."""
    if subject not in _begun:
        told = readable(dropout=lambda: dropouts_of(subject.model))
        _begun[subject] = randomness_facts() | told
    return _begun[subject]


def _world_size() -> int:
    """Count the processes that train together, as torch or else the launcher says.

    Accelerate knows of some that torch does not: XLA has no process group of torch's.
    """
    state = getattr(sys.modules.get("accelerate.state"), "PartialState", None)
    known = int(getattr(state, "_shared_state", {}).get("num_processes") or 1)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return max(known, torch.distributed.get_world_size())
    return max(known, int(os.environ.get("WORLD_SIZE", "1")))


def tokenizer_facts(tokenizer: Any) -> dict[str, Any]:
    """Read special tokens and sides of a tokenizer, or of the one in a processor."""
    if tokenizer is None:
        return {}
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    names = (
        "pad_token_id",
        "eos_token_id",
        "bos_token_id",
        "unk_token_id",
        "padding_side",
        "truncation_side",
        "model_max_length",
        "vocab_size",
        "is_fast",
    )
    readers = {name: functools.partial(getattr, inner, name) for name in names}
    found = readable(**readers) | {"class": type(inner).__name__}
    return {name: jsonable(value) for name, value in found.items()}


@dataclass(slots=True)
class _Known:
    """A model's parameters as of the last walk, held weakly."""

    age: int = WALK_EVERY
    registrations: int = 0
    parameters: list["weakref.ref[torch.Tensor]"] = field(default_factory=list)


_known: "weakref.WeakKeyDictionary[Subject, _Known]" = weakref.WeakKeyDictionary()


def facts_signature(subject: Subject) -> Hashable:
    """Give a value that differs when the facts should be read again.

    It follows optimizers and what their groups hold, schedulers, the scaler, adapters,
    and which parameters exist, their shapes and whether they are trainable. New ones
    are seen at once where a module was heard to get a parameter, and else at the latest
    at the sixteenth call after they appeared.
    """
    model = subject.model
    parameters = _parameters_of(subject, model)
    return (
        tuple(map(_optimizer_signature, subject.optimizers)),
        len(subject.schedulers),
        tuple(subject.scaling.items()),
        len(subject.training),
        _adapters_signature(model),
        hash(tuple((id(p), p.requires_grad, p.shape) for p in parameters)),
        packing_signature(parameters),
        writes(parameters),
        hooks_signature(model),
    )


def _optimizer_signature(optimizer: Any) -> Hashable:
    if isinstance(optimizer, GoneOptimizer):
        return None
    groups = getattr(optimizer, "param_groups", ())
    held = tuple(hash(tuple(map(id, group["params"]))) for group in groups)
    decay = tuple(
        d for d in (g.get("weight_decay") for g in groups) if isinstance(d, float | int)
    )
    return (held, decay)


def _adapters_signature(model: Any) -> Hashable:
    configs = attribute_of(model, "peft_config")
    if not isinstance(configs, dict):
        return ()
    active = attribute_of(model, "active_adapter")  # a method on a bare transformer
    return (*configs, None, *([active] if isinstance(active, str) else active or ()))


def _parameters_of(subject: Subject, model: torch.nn.Module) -> list[torch.Tensor]:
    known = _known.setdefault(subject, _Known())
    known.age += 1
    live = [each() for each in known.parameters]
    heard, known.registrations = known.registrations, subject.registrations
    new = heard != subject.registrations
    if new or known.age >= WALK_EVERY or any(each is None for each in live):
        known.parameters = [weakref.ref(each) for each in model.parameters()]
        known.age = 0
        live = [each() for each in known.parameters]
    return [each for each in live if each is not None]
