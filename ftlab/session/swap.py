"""`ftlab.swap`: adapters loaded, activated and deleted on a live model, and proven."""

from collections.abc import Mapping
from typing import Any

from ftlab.laboratory.swapping import swapped
from ftlab.records.errors import BadValueError
from ftlab.session.given_models import batch_of, model_of, on_device
from ftlab.views.adapters.swap import SwapView


def swap(
    model: Any,
    adapters: Mapping[str, Any],
    batch: Any,
    *,
    rounds: int = 3,
    requests: int = 64,
    threads: int = 4,
) -> SwapView:
    """Swap adapters on a live model: what it takes, and whether outputs stay the same.

    Each adapter is loaded, activated, switched off and on, and deleted again, by PEFT
    itself. What it answers while it is there alone, it must answer ever after, bit for
    bit, whatever is done beside it; switched off or deleted, the base must answer as
    before. Then mixed requests go through an `ftlab.AdapterBank` from several threads.

    Parameters
    ----------
    model
        A PeftModel, whose own adapters stay and must be of the same method, or a model
        without adapters, or a trainer of one. It is left as it was.
    adapters
        By the name that it gets: the folder of an adapter, or a PeftModel whose active
        adapter is taken.
    batch
        Keyword arguments of the model; see `ftlab.diff`.
    rounds
        How often all adapters are loaded and deleted. Times are medians over these.
    requests, threads
        How many are sent, by how many threads.

    Returns
    -------
    SwapView
        `SwapView.equal` says whether all answers were right; ``swapped`` has numbers.

    Raises
    ------
    BadValueError
        Something else was passed, an adapter does not fit, or answers are random.

    Examples
    --------
    >>> import ftlab
    >>> from ftlab.faults.builders.tiny import batches, llama, lora
    >>> found = ftlab.swap(llama(), {"math": lora(llama())}, batches()[0], rounds=1)
    >>> found.equal, found.swapped.swaps[0].operation, found.swapped.swaps[0].nbytes
    (True, 'load', 14336)
    """
    chosen = model_of(model, "model", "swap(model, adapters, batch)")
    for value, least in ((rounds, 1), (requests, 0), (threads, 1)):
        if type(value) is not int or value < least:
            msg = (
                f"rounds={rounds}, requests={requests}, threads={threads}: pass whole "
            )
            msg += "numbers: of rounds and threads 1 or more, of requests 0 or more."
            raise BadValueError(msg)
    given: Any = adapters
    named = dict(given) if isinstance(given, Mapping) else {}
    if not named or not all(name and type(name) is str for name in named):
        msg = (
            f"adapters is {adapters!r}; pass folders by the names that they get: "
            'swap(model, {"math": "out/math"}, batch).'
        )
        raise BadValueError(msg)
    rows = on_device(batch_of(batch), chosen)
    return SwapView(swapped(chosen, named, rows, rounds, (requests, threads)))
