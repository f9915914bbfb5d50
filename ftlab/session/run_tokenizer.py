"""The tokenizer that a run was trained with, as its log has it."""

from ftlab.records.errors import BadValueError
from ftlab.records.event import Event
from ftlab.records.fingerprint import Fingerprint
from ftlab.records.said import said_of
from ftlab.runlog.run import Run
from ftlab.views.tokenizers.fingerprint import FingerprintView


def fingerprint_of(run: Run) -> FingerprintView:
    """Return the last fingerprint of the tokenizer that a run has told.

    Raises
    ------
    BadValueError
        It has told none, or the log is damaged there.

    Examples
    --------
    >>> from ftlab.runlog.run import Run
    >>> from ftlab.session.run_tokenizer import fingerprint_of
    >>> fingerprint_of(Run())
    Traceback (most recent call last):
    ...
    ftlab.records.errors.BadValueError: This run has no tokenizer fingerprint; ...
    """
    told = [each for each in run.whole.events if each.kind == "tokenizer"]
    if not told:
        msg = (
            "This run has no tokenizer fingerprint; it is recorded with the first step "
            "of ftlab.watch(trainer), or ftlab.watch(model, tokenizer=...)."
        )
        raise BadValueError(msg)
    try:
        last = told[-1].detail["digest"]
        kept = [
            Fingerprint.from_json(each.detail["fingerprint"])
            for each in told
            if each.detail["digest"] == last and "fingerprint" in each.detail
        ]
        return FingerprintView(kept[-1], changes=_changes(told))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        msg = (
            f"This run's fingerprint cannot be read: {said_of(error)}. "
            "ftlab.fingerprint(tokenizer) reads a new one."
        )
        raise BadValueError(msg) from error


def _changes(told: list[Event]) -> tuple[tuple[int, str], ...]:
    """Return when it changed on the way, and in which parts."""
    return tuple(
        (each.step, ", ".join(each.detail["changed"]))
        for each in told
        if "changed" in each.detail
    )
