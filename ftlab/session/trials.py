"""Relations that are tried one by one: what experiments and stations have in common."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ftlab.executions.side import NotApplicableError
from ftlab.experiments.deployment.station import Station
from ftlab.experiments.experiment import Experiment
from ftlab.records import replaying
from ftlab.records.errors import BadValueError
from ftlab.records.outcome import Outcome
from ftlab.session.progress import progress_bar


def all_tried(
    relations: Sequence[Experiment] | Sequence[Station],
    subject: Any,
    *,
    doing: tuple[str, str],
    after: Callable[[], object] = lambda: None,
) -> list[Outcome]:
    """Try relations on a live step or a trip; an interrupt keeps what is known.

    Parameters
    ----------
    doing
        Title of the bar, and what its units are.
    after
        Called after each.
    """
    outcomes: list[Outcome] = []
    title, unit = doing
    try:
        with progress_bar(title, len(relations), unit=unit) as tick:
            for each in relations:
                outcomes.append(tried(each, subject))
                after()
                tick(1)
    except KeyboardInterrupt:
        says = "interrupted before it was tried"
        outcomes += [
            each.outcome("cannot be decided", says)
            for each in relations[len(outcomes) :]
        ]
    return outcomes


def tried(relation: Experiment | Station, subject: Any) -> Outcome:
    """Try a relation; what it raises is told as its outcome."""
    try:
        with quiet(), eagerly(), torch.inference_mode(mode=False):
            return relation.run(subject)
    except NotApplicableError as reason:
        return relation.outcome("does not apply", str(reason))
    except BadValueError:
        raise
    except Exception as error:  # noqa: BLE001  an odd model must not end the rest
        says = f"it raised {type(error).__name__}: {str(error).splitlines()[0:1]}"
        return relation.outcome("cannot be decided", says[:300])


@contextlib.contextmanager
def eagerly() -> Iterator[None]:
    """Run what is compiled as it was written, to see into it; gradients are on."""
    with torch.compiler.set_stance("force_eager"), torch.enable_grad():
        yield


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let transformers and peft save and load without bars and warnings, unheard."""
    from transformers.utils import logging

    shown, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings(), replaying.marked():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if shown:
            logging.enable_progress_bar()
