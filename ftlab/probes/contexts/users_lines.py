"""The user's line that runs, from within a library's."""

import inspect

from ftlab.probes.holding.sources import shown_place
from ftlab.probes.holding.walk import is_library


def users_line() -> str:
    """Return the innermost line that runs of the user's own: ``"train.py:12"``."""
    frame = inspect.currentframe()
    while frame is not None:
        if not is_library(frame.f_globals.get("__name__")):
            return shown_place(frame.f_code.co_filename, frame.f_lineno or 0)
        frame = frame.f_back
    return ""
