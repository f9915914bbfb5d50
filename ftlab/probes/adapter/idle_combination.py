"""An adapter that was combined of others, until something uses it.

``add_weighted_adapter`` leaves the active adapter as it was. Whoever looks at the model
then looks at that one, and not at the combination.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any


class IdleCombination:
    """Keeps the latest combination, and which adapters ran in its place.

    One before it may be a source of it, and is not kept.

    Examples
    --------
    >>> from ftlab.probes.adapter.idle_combination import IdleCombination
    >>> idle = IdleCombination()
    >>> idle.made("mix")
    >>> idle.ran(["b"])
    >>> idle.ran(["b"])
    >>> idle.facts()
    {'adapter': 'mix', 'active': 'b', 'forwards': 2}
    >>> idle.used(["mix"])
    >>> idle.facts()
    {}
    """

    def __init__(self) -> None:
        self.name = ""
        self._ran: Counter[str] = Counter()

    def made(self, name: str) -> None:
        """Begin with a new one."""
        self.name = name
        self._ran.clear()

    def forget(self) -> None:
        """Take it for used: it may have been, where nobody can see."""
        self.made("")

    def used(self, names: Iterable[str]) -> None:
        """Forget it if it is among these adapters."""
        if self.name and self.name in names:
            self.forget()

    def ran(self, active: Iterable[str]) -> None:
        """See a forward with these adapters."""
        running = sorted(active)
        self.used(running)
        if self.name and running:
            self._ran[",".join(running)] += 1

    def facts(self) -> dict[str, Any]:
        """Return its name, and what ran how often instead; nothing where none did."""
        if not self.name or not self._ran:
            return {}
        active, _ = self._ran.most_common(1)[0]
        forwards = self._ran.total()
        return {"adapter": self.name, "active": active, "forwards": forwards}
