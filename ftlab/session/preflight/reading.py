"""The first batches of a run, read so that nothing is used up.

A DataLoader is not iterated: its sampler, dataset and collator are called as it would
call them, without worker processes, and its own iterator stays where it is. Where it
has workers, ``get_worker_info`` answers as in the first. A dataset that is a stream is
read from a copy.
"""

import copy
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torch.utils.data import DataLoader, IterableDataset, default_collate

from ftlab.probes.torch_private import as_first_worker
from ftlab.session.arguments import first_given
from ftlab.session.preflight.given import Given

DEFAULT_ROWS = 2
"""Rows of a batch where nothing says how many."""


class UnreadableError(Exception):
    """Batches could not be read without using them up; the message says why."""


def sources(given: Given) -> list[Any]:
    """List the objects that reading touches, so that they can be put back."""
    found = [given.dataset, given.collator, given.batches]
    loader = given.batches
    if isinstance(loader, DataLoader):
        found += [loader.dataset, loader.sampler, loader.batch_sampler]
        found += [getattr(loader.batch_sampler, "sampler", None), loader.collate_fn]
    return [each for each in found if hasattr(each, "__dict__")]


def loaders_among(variables: Mapping[str, Any]) -> list[Any]:
    """Return the DataLoaders that variables hold, each once."""
    found = {id(v): v for v in variables.values() if isinstance(v, DataLoader)}
    return list(found.values())


def first_batches(given: Given, count: int) -> list[Any]:
    """Return up to ``count`` batches; an empty list where none was handed over.

    Raises
    ------
    UnreadableError
        Reading would use something up.
    Exception
        Whatever the user's dataset or collator raises.
    """
    source = given.batches
    if isinstance(source, DataLoader):
        return _of_loader(source, count)
    if source is not None:
        batches = list(itertools.islice(iter(source), count))
        return _repeated(batches, count)
    if given.trainer is not None:
        if given.trainer.train_dataset is None:
            return []
        return _of_loader(given.trainer.get_train_dataloader(), count)
    if given.dataset is not None:
        return _repeated(list(_of_dataset(given, count)), count)
    return []


def _repeated(batches: list[Any], count: int) -> list[Any]:
    return list(itertools.islice(itertools.cycle(batches), count)) if batches else []


def _of_loader(loader: Any, count: int) -> list[Any]:
    try:
        with as_first_worker(loader.dataset, loader.num_workers):
            return list(_read_here(loader, count))
    except Exception as error:
        if not loader.num_workers or loader.worker_init_fn is None:
            raise
        words = f"{type(error).__name__}: {error}"
        msg = (
            f"reading raised {words}, and worker_init_fn, which prepares the dataset "
            "in each worker, is not called here"
        )
        raise UnreadableError(msg) from error


def _read_here(loader: Any, count: int) -> Iterator[Any]:
    collate = loader.collate_fn
    if isinstance(loader.dataset, IterableDataset):
        rows = iter(_copied(loader.dataset))
        for _ in range(count):
            if loader.batch_size is None:
                yield from (collate(row) for row in itertools.islice(rows, 1))
                continue
            taken = list(itertools.islice(rows, loader.batch_size))
            if taken:
                yield collate(taken)
        return
    if loader.batch_sampler is None:
        for index in itertools.islice(iter(loader.sampler), count):
            yield collate(loader.dataset[index])
        return
    for indices in itertools.islice(iter(loader.batch_sampler), count):
        yield collate(_rows(loader.dataset, list(indices)))


def _of_dataset(given: Given, count: int) -> Iterator[Any]:
    collate = first_given(given.collator, default_collate)
    asked = _asked(given.args, "per_device_train_batch_size")
    size = asked if isinstance(asked, int) and asked > 0 else DEFAULT_ROWS
    dataset = given.dataset
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
        rows = itertools.islice(iter(_copied(dataset)), size * count)
        taken: Sequence[Any] = list(rows)
    else:
        taken = _rows(dataset, list(range(min(len(dataset), size * count))))
    for start in range(0, len(taken), size):
        yield collate(list(taken[start : start + size]))


def _asked(args: Any, name: str) -> Any:
    return args.get(name) if isinstance(args, Mapping) else getattr(args, name, None)


def _rows(dataset: Any, indices: list[Any]) -> list[Any]:
    """Fetch rows as torch's own fetcher does."""
    many = getattr(dataset, "__getitems__", None)
    if many is not None:
        return list(many(indices))
    return [dataset[index] for index in indices]


def _copied(dataset: Iterable[Any]) -> Any:
    if isinstance(dataset, Iterator):
        msg = (
            f"the dataset is a {type(dataset).__name__}, and rows taken from it cannot "
            "be read again"
        )
        raise UnreadableError(msg)
    try:
        return copy.deepcopy(dataset)
    except Exception as error:  # a generator, an open file, a connection
        msg = (
            f"the {type(dataset).__name__} is a stream that cannot be copied "
            f"({type(error).__name__}: {error}), and reading would advance it"
        )
        raise UnreadableError(msg) from error
