"""A dictionary that keeps no key alive and calls no method of one."""

import weakref
from collections.abc import Iterable, Iterator, MutableMapping
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class ById(MutableMapping[Key, Value]):
    """Values by the identity of their keys, which are held weakly.

    What a user's objects do with ``==``, ``hash()`` and ``bool()`` is theirs: a module
    may compare tensors. A set is one whose values are ``None``.

    Examples
    --------
    >>> from ftlab.records.by_id import ById
    >>> class Odd(set):
    ...     pass
    >>> first, second = Odd(), Odd()
    >>> known = ById([(first, 1)])
    >>> first == second, first in known, second in known
    (True, True, False)
    >>> del first
    >>> len(known)
    0
    """

    def __init__(self, items: Iterable[tuple[Key, Value]] = ()) -> None:
        self._kept: dict[int, tuple[weakref.ref[Key], Value]] = {}
        for key, value in items:
            self[key] = value

    def __getitem__(self, key: Key) -> Value:
        return self._kept[id(key)][1]

    def __setitem__(self, key: Key, value: Value) -> None:
        kept, number = self._kept, id(key)
        self._kept[number] = weakref.ref(key, lambda _: kept.pop(number, None)), value

    def __delitem__(self, key: Key) -> None:
        del self._kept[id(key)]

    def __iter__(self) -> Iterator[Key]:
        found = (key() for key, _ in tuple(self._kept.values()))
        return (key for key in found if key is not None)

    def __len__(self) -> int:
        return len(self._kept)

    def clear(self) -> None:
        """Forget all keys."""
        self._kept.clear()
