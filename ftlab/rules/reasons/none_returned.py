"""The reason that a function of the user's returned ``None`` in its backward."""

from collections.abc import Sequence

from ftlab.records.finding import Place
from ftlab.rules.reasons.missing import Reason
from ftlab.rules.reasons.unreached_call import MODEL, Call
from ftlab.rules.words import in_words, listed


def none_returned(calls: Sequence[Call]) -> Reason:
    """Say that a backward was given a gradient and handed none on."""
    functions = list(dict.fromkeys(call.function for call in calls))
    within = list(dict.fromkeys(call.to or MODEL for call in calls))
    names = [_parts(each) for each in functions]
    return Reason(
        "backward-returns-none",
        f"{listed(functions, 3)}, which runs in {in_words(within)}, received a "
        "gradient but returned None for an input that needs one: nothing flows on to "
        f"the parameters of {in_words(call.name for call in calls)}.",
        "Return one gradient for each input of forward, in its order; None only where "
        "ctx.needs_input_grad is False. torch.autograd.gradcheck(F.apply, inputs) in "
        "float64 says whether they are right. Freeze what should not learn.",
        (
            *(Place("module", each) for each in within),
            *(Place("op", name) for name, _ in names),
            *(Place("file", at) for _, at in names if at),
        ),
    )


def _parts(function: str) -> tuple[str, str]:
    name, _, at = function.partition(" (")
    return name, at.removesuffix(")")
