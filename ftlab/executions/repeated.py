"""The same execution twice: the first tensor that is not the same, bit for bit."""

from ftlab.executions.passes import Beside
from ftlab.executions.side import Side, start_again, undisturbed
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Recording, Tape
from ftlab.executions.tokens import Meeting


def first_unlike(side: Side) -> tuple[str, str, float] | None:
    """Return module, phase and relative distance of the first tensor that differs.

    Parameters
    ----------
    side
        Is executed twice, from the same random state.
    """
    with Spool() as spool, undisturbed(side) as start:
        tape = Tape(spool)
        start_again(side, start)
        side.run(Recording(tape))
        found = Beside(tape, Meeting(None, None))
        start_again(side, start)
        side.run(found)
    for phase, measured in (("forward", found.values), ("backward", found.gradients)):
        for place, apart in measured.apart.items():
            if float(apart.max()) > 0:
                size = float(measured.sizes[place].max())
                share = float(apart.max()) / size if size else float("inf")
                return place.module or "the model", phase, share
    return None
