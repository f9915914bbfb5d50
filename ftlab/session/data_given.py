"""What a user gives as a dataset: one, or several splits of it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ftlab.probes.data.files.entries import Source
from ftlab.probes.data.files.sources import sources_of
from ftlab.records.errors import BadValueError
from ftlab.records.printable import printable

TRAINED = "train"
"""The split that is looked at, of several; the others are the evaluation data."""

SPLITS = "dataset_dict.json"
"""The file in which ``save_to_disk`` names the splits of a folder."""


class _Saved(dict[str, Path]):
    """Folders of splits, by their names."""


def splits_of(dataset: Any, evaluation: Any) -> tuple[Any, Any]:
    """Take the training split of several, and the others for evaluation.

    Raises
    ------
    BadValueError
        No split of them is the training's.

    Examples
    --------
    >>> from ftlab.session.data_given import splits_of
    >>> splits_of([{"text": "a"}], None)
    ([{'text': 'a'}], None)
    """
    dataset = _saved_splits(dataset)
    if not _are_splits(dataset):
        return dataset, evaluation
    if TRAINED not in dataset:
        names = printable(", ".join(map(str, dataset))) or "nothing"
        first = next(iter(dataset), TRAINED)
        msg = (
            f"The dataset contains {names}, but no {TRAINED}; pass one of them: "
            f"ftlab.data(dataset[{first!r}], tokenizer)."
        )
        raise BadValueError(msg)
    others = [each for name, each in dataset.items() if name != TRAINED]
    return dataset[TRAINED], others if evaluation is None and others else evaluation


def _are_splits(given: Any) -> bool:
    if not isinstance(given, Mapping):
        return False
    return hasattr(given, "column_names") or isinstance(given, _Saved)


def _saved_splits(given: Any) -> Any:
    """Return the folders of the splits that ``DatasetDict.save_to_disk`` wrote."""
    if not isinstance(given, str | os.PathLike):
        return given
    try:
        known = json.loads(Path(given, SPLITS).read_text("utf-8"))
        return _Saved({name: Path(given, name) for name in known["splits"]})
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return given  # no such folder, or none of datasets


def evaluation_of(given: Any) -> list[Source]:
    """Return what the evaluation data is read from: of several splits, all."""
    several = isinstance(given, list) and all(hasattr(e, "column_names") for e in given)
    if several or _are_splits(given):
        splits = given.values() if isinstance(given, Mapping) else given
        return [source for each in splits for source in sources_of(each)]
    return sources_of(given)


def name_of(dataset: Any) -> str:
    """Return what a dataset is called in a report."""
    if isinstance(dataset, str | os.PathLike):
        return Path(os.fspath(dataset)).name or os.fspath(dataset)
    if isinstance(dataset, list | tuple) and dataset:
        first = dataset[0]
        if isinstance(first, os.PathLike) or str(first).endswith(
            (".jsonl", ".parquet")
        ):
            return f"{len(dataset)} files"
    return type(dataset).__name__
