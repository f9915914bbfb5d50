"""Which operation of a surveyed step a command leads to."""

from collections.abc import Sequence

from ftlab.records.errors import UnknownNameError
from ftlab.records.near import near
from ftlab.records.path_pattern import is_module
from ftlab.replay.control import Command
from ftlab.replay.tracing.site import Site

BACKWARD = "backward"


def destination(sites: Sequence[Site], index: int, command: Command) -> int:
    """Return the op that ``command`` leads to from the op at ``index``.

    An index equal to ``len(sites)`` is the end of the step. A stay in a module is a run
    of neighbouring ops with the same module and phase; ``step`` and ``back`` by module
    lead to the first op of a stay. Whole micro-batches and optimizer steps end, and
    begin, where the step does.

    Examples
    --------
    >>> from ftlab.replay.control import Command
    >>> from ftlab.replay.route import destination
    >>> from ftlab.replay.tracing.site import Site
    >>> sites = [Site(i, "op", "forward", m, "", "", "") for i, m in enumerate("aabb")]
    >>> destination(sites, 1, Command("step", "module"))
    2
    >>> destination(sites, 3, Command("back", "module"))
    0
    >>> destination(sites, 3, Command("back", "op", 2))
    1
    >>> destination(sites, 0, Command("step", "b"))
    2
    >>> destination(sites, 0, Command("step", "micro-batch"))
    4
    """
    if command.unit == "op":
        moved = command.count if command.verb == "step" else -command.count
        return min(max(index + moved, 0), len(sites))
    if command.whole:
        return len(sites) if command.verb == "step" else 0
    starts = _starts(sites, command.unit)
    if command.verb == "step":
        later = [start for start in starts if start > index]
        return [*later, *[len(sites)] * command.count][command.count - 1]
    here = min(index, len(sites) - 1)
    if command.unit == "module":
        here = max((s for s in starts if s <= here), default=0)
    earlier = [start for start in starts if start < here] or [0]
    return earlier[max(len(earlier) - command.count, 0)]


def check_pattern(sites: Sequence[Site], command: Command) -> None:
    """Refuse a pattern of modules that nothing in the step matches.

    Raises
    ------
    UnknownNameError
        With the names that are near.
    """
    if command.unit in ("op", "module") or command.whole or not sites:
        return
    if not _starts(sites, command.unit):
        names = {site.module for site in sites if site.module}
        wanted = command.unit.removeprefix(BACKWARD).strip()
        msg = (
            f"{command.verb}(to={command.unit!r}): no operation of this step is in "
            f"such a module; {near(wanted, names)}."
        )
        raise UnknownNameError(msg)


def _starts(sites: Sequence[Site], unit: str) -> list[int]:
    """List where a stay in a module begins that ``unit`` means."""
    starts = []
    before: Site | None = None
    for site in sites:
        if _enters(before, site, unit):
            starts.append(site.index)
        before = site
    return starts


def _enters(before: Site | None, site: Site, unit: str) -> bool:
    if unit == "module":
        place = (site.module, site.phase)
        return before is None or (before.module, before.phase) != place
    return _matches(site, unit) and (before is None or not _matches(before, unit))


def _matches(site: Site, unit: str) -> bool:
    words = unit.split()
    if words[0] == BACKWARD:
        if site.phase != BACKWARD:
            return False
        words = words[1:]
    module = site.module
    return not words or (module is not None and is_module(module, words[0]))
