"""How a checklist says that a forward failed: where, between which precisions."""

from ftlab.records.checklist import CheckItem
from ftlab.records.finding import PlaceKind
from ftlab.records.name_words import in_words
from ftlab.session.preflight.failing import Failure
from ftlab.session.preflight.saying import Check, Fault
from ftlab.session.preflight.seen import Seen

_FORWARD = Check("model", "forward works")
_BODY = Check("model", "the loop's body works")


LOW = ("bfloat16", "float16")

MIXED = (
    "Some modules have a different precision than the rest (norms in float32 after "
    "k-bit preparation, a new head, a part that was cast by hand), and nothing "
    "converts between them."
)


def under_autocast(seen: Seen, failure: Failure) -> CheckItem:
    """Say that forward fails as it is, and came through under autocast.

    It is a fault where the step is the user's own or a trainer's: that is how training
    will run. Where preflight made the step it is noted.
    """
    given = seen.given
    own = given.step is not None or given.trainer is not None
    low = next(name for name in LOW if name in failure.dtypes)
    device = next(seen.model.parameters()).device.type
    met = f"in {_module(seen, failure)} {_met(failure)}"
    fault = Fault(
        f"{met}: {failure.message}"
        if own
        else f"only under autocast in {low}: without it, {met}",
        cause=MIXED,
        fix=f"Compute under torch.autocast({device!r}, torch.{low}), as a Trainer does "
        f"with {_flag(low)}=True: the dry steps succeeded that way. Or cast the model "
        "to one dtype.",
        places=_places(seen, failure),
    )
    say = _FORWARD.failed if own else _FORWARD.noted
    return say(fault, error=failure.message, under_autocast="came through")


def raised(seen: Seen, failure: Failure) -> CheckItem:
    """Say what a forward raised, or the loop's body outside of it."""
    if failure.phase == "step":
        at = f" at {failure.line}" if failure.line else ""
        return _BODY.failed(
            Fault(
                f"your step raised {failure.message}{at}",
                cause="The loop's body fails outside of the model; training would stop "
                "in its first step.",
                fix="Fix that line; if something failed above, fix that first.",
                places=[("call", "step")],
            ),
            error=type(failure.error).__name__,
        )
    if _met(failure):
        return _clash(seen, failure)
    return _FORWARD.failed(
        Fault(
            f"{_where(failure)} raised {failure.message}",
            cause="The model does not accept this batch; training would stop in its "
            "first step.",
            fix="Call the step once by hand for the full traceback, and compare the "
            "batch's names, shapes and device with forward's arguments.",
            places=_places(seen, failure),
        ),
        error=type(failure.error).__name__,
    )


def _clash(seen: Seen, failure: Failure) -> CheckItem:
    module, device = _module(seen, failure), next(seen.model.parameters()).device.type
    low = [name for name in LOW if name in failure.dtypes]
    fix = f"Cast {module}, or its input, so that both have one dtype."
    if low:
        fix += (
            f" Or compute under torch.autocast({device!r}, torch.{low[0]}); around the "
            "whole step it did not help, so the step switches it off, or something "
            "else is wrong."
        )
    return _FORWARD.failed(
        Fault(
            f"in {module} {_met(failure)}: {failure.message}",
            cause=MIXED,
            fix=fix,
            places=_places(seen, failure),
        ),
        error=type(failure.error).__name__,
    )


def _where(failure: Failure) -> str:
    return f"forward of {in_words([failure.module])}" if failure.module else "forward"


def _module(seen: Seen, failure: Failure) -> str:
    return in_words([failure.module]) if failure.module else type(seen.model).__name__


def _places(seen: Seen, failure: Failure) -> list[tuple[PlaceKind, str]]:
    if not failure.module:
        return [("call", "forward"), ("object", type(seen.model).__name__)]
    return [("module", failure.module), ("call", "forward")]


def _met(failure: Failure) -> str:
    """Say which precisions met, if two did."""
    if len(failure.dtypes) < 2:
        return ""
    if failure.weights and failure.weights != failure.got:
        got = " and ".join(failure.got) or "nothing"
        return f"it gets {got} for weights in {' and '.join(failure.weights)}"
    return f"{' and '.join(failure.dtypes)} meet"


def _flag(dtype: str) -> str:
    return "bf16" if dtype == "bfloat16" else "fp16"
