"""A listener for probes that only want to know that backward begins."""

from collections.abc import Callable, Sequence
from typing import Any

from ftlab.probes.taps.listener import Shielded
from ftlab.probes.taps.shared import listen
from ftlab.records.handle import Handle


class BackwardEar:
    """Hears that backward begins, and nothing else; see `taps.listener.Listener`."""

    def __init__(self, tell: Callable[[Sequence[Any]], None]) -> None:
        self._tell = tell

    def before_backward(self, losses: Sequence[Any], _weights: Any) -> None:
        """Tell what backward is called on."""
        self._tell(losses)


def hear_backward(
    tell: Callable[[Sequence[Any]], None], fail: Callable[[Exception], None]
) -> Handle:
    """Call ``tell`` with what each backward begins from, and ``fail`` if it raises."""
    ear: Any = BackwardEar(tell)
    shielded: Any = Shielded(ear, fail)
    return listen(shielded)
