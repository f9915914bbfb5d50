"""A data loader in place of a list of batches, for cases that are about its epochs."""

from collections.abc import Callable, Sequence
from typing import Any, overload


class Epochs(Sequence[Any]):
    """The batches of a loader, which begins anew whenever the first one is asked for.

    Parameters
    ----------
    loader
        A `torch.utils.data.DataLoader`.
    before
        Called in front of each epoch, with its number.
    """

    def __init__(
        self, loader: Any, before: Callable[[int], object] = lambda _: None
    ) -> None:
        self.loader = loader
        self._before = before
        self._epoch = 0
        self._iterator: Any = None

    def __len__(self) -> int:
        return len(self.loader)

    @overload
    def __getitem__(self, at: int) -> Any: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Any]: ...

    def __getitem__(self, at: int | slice) -> Any:
        if at == 0:
            self._before(self._epoch)
            self._epoch += 1
            self._iterator = iter(self.loader)
        return next(self._iterator)
