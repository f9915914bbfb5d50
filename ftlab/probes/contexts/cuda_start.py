"""Where CUDA is initialised, and by whom."""

import torch

from ftlab.probes.contexts.users_lines import users_line

_started: list[str] = []
_asked: list[bool] = []


def cuda_started_at() -> str:
    """Return the user's line; ``""`` where it is not known, or did not happen."""
    return "".join(_started)


def watch_cuda_start() -> None:
    """Remember the line that initialises CUDA, once in a process."""
    if not _asked and not torch.cuda.is_initialized():
        _asked.append(True)
        call = torch.cuda._lazy_call  # noqa: SLF001  runs it when CUDA is initialised
        call(lambda: _started.append(users_line()))
