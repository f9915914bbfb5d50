"""Choices that a model makes, which rounding may turn over: another expert."""

from ftlab.executions.passes import Beside
from ftlab.executions.tokens import Meeting


def jump(free: Beside, meeting: Meeting) -> str:
    """Say which token is the first to take another way, in words; empty if none does.

    Parameters
    ----------
    free
        A side that ran freely beside the other.
    meeting
        Which tokens are the same.
    """
    for place, apart in free.values.apart.items():
        chosen = place.kind == "out" and place in free.values.whole
        if not chosen or not bool((apart > 0).any()):
            continue
        said = f"{place.module} chooses otherwise, by rounding alone"
        if meeting.b is None or len(apart) != len(meeting.b.rows):
            return said
        first = int((apart > 0).nonzero()[0])
        row, position = int(meeting.b.rows[first]), int(meeting.b.positions[first])
        count = int((apart > 0).sum())
        more = f", and {count - 1} more" if count > 1 else ""
        return f"{said}: row {row}, position {position}{more}"
    return ""
