"""The same execution twice: the first tensor that is not the same, bit for bit."""

from ftlab.executions.pairs import Pair
from ftlab.executions.passes import Beside
from ftlab.executions.side import start_again, undisturbed
from ftlab.executions.spool import Spool
from ftlab.executions.tape import Recording, Tape
from ftlab.executions.tokens import Meeting


def first_unlike(pair: Pair) -> tuple[str, str, float] | None:
    """Return module, phase and relative distance of the first tensor that differs.

    Both sides run as they are. What differs less than the numbers of a float64 can tell
    apart does not count as different.

    Parameters
    ----------
    pair
        Two executions of one model.
    """
    with Spool() as spool, undisturbed(pair.a, pair.b) as rng:
        tape = Tape(spool)
        start_again(pair.a, rng)
        pair.a.run(Recording(tape))
        found = Beside(tape, Meeting(None, None))
        start_again(pair.b, rng)
        pair.b.run(found)
    for phase, measured in (("forward", found.values), ("backward", found.gradients)):
        for place, apart in measured.apart.items():
            if float(apart.max()) > 0:
                size = float(measured.sizes[place].max())
                share = float(apart.max()) / size if size else float("inf")
                return place.module or "the model", phase, share
    return None
