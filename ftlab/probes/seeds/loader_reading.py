"""How a loader is going to give out its batches: in what order, drawn with what."""

from dataclasses import replace
from typing import Any

import torch
from torch.utils.data import (
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from ftlab.probes.seeds.held_generators import held_generators
from ftlab.probes.seeds.rng_states import rng_digests
from ftlab.records.loader_start import LoaderStart

_DRAWING = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)

_GROUPED = ("LengthGroupedSampler", "DistributedLengthGroupedSampler")
"""Samplers of transformers that draw, from torch's generator or one of their own."""

_STAGES = "_ex_iterable"
"""Where a stream of the library datasets holds its stages, shuffles among them."""


def loader_start(loader: Any) -> LoaderStart:
    """Read how a loader will give out its batches.

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from ftlab.probes.seeds.loader_reading import loader_start
    >>> start = loader_start(DataLoader([1, 2, 3]))
    >>> start.dataset, start.order, start.workers
    ('list', 'in order', 0)
    """
    dataset = loader.dataset
    fingerprint = vars(dataset).get("_fingerprint") if _has_dict(dataset) else None
    known = LoaderStart(
        0,
        dataset=type(dataset).__name__,
        workers=int(loader.num_workers),
        rng=rng_digests(),
        workers_seed=_seed(loader.generator),
        held=held_generators(dataset, loader.collate_fn),
        contents=fingerprint if isinstance(fingerprint, str) else "",
        skipped=_skipped(loader),
    )
    if isinstance(dataset, IterableDataset):
        return _stream(known, dataset)
    sampler = _innermost(loader)
    generators = [getattr(sampler, "generator", None), loader.generator]
    told = [_number(sampler, name) for name in ("initial_seed", "seed")]
    seeds = [each for each in (*told, *map(_seed, generators)) if each is not None]
    return replace(
        known,
        sampler=type(sampler).__name__,
        order=_order(sampler),
        seed=seeds[0] if seeds else None,
        epoch=_number(sampler, "epoch"),
    )


def _stream(known: LoaderStart, dataset: Any) -> LoaderStart:
    """Read whether a stream shuffles: one of datasets shows it, others do not."""
    known = replace(known, order="stream", epoch=_number(dataset, "epoch"))
    if not hasattr(dataset, _STAGES):
        return known
    shuffles = [each.seed for each in known.held if _STAGES in each.name]
    if not shuffles:
        return replace(known, order="in order")
    return replace(known, order="random", seed=shuffles[0])


def _seed(generator: Any) -> int | None:
    return generator.initial_seed() if isinstance(generator, torch.Generator) else None


def _skipped(loader: Any) -> int:
    found = getattr(loader, "skip_batches", 0) or getattr(
        loader.batch_sampler, "skip_batches", 0
    )
    return found if type(found) is int else 0


def _has_dict(owner: Any) -> bool:
    return hasattr(owner, "__dict__")


def _innermost(loader: Any) -> Any:
    """Return what gives single indices, within batch samplers and their wrappers."""
    found = loader.batch_sampler if loader.batch_sampler is not None else loader.sampler
    while (inner := _inside(found)) is not None:
        found = inner
    return found


def _inside(sampler: Any) -> Any:
    held = vars(sampler) if hasattr(sampler, "__dict__") else {}
    inner = [held.get(name) for name in ("batch_sampler", "sampler")]
    return next((each for each in inner if each is not None), None)


def _order(sampler: Any) -> str:
    if isinstance(sampler, SequentialSampler):
        return "in order"
    drawn = isinstance(sampler, _DRAWING) or getattr(sampler, "shuffle", False)
    drawn = drawn or type(sampler).__name__ in _GROUPED
    return "random" if drawn else "own"


def _number(owner: Any, name: str) -> int | None:
    value = getattr(owner, name, None)
    return value if type(value) is int else None
