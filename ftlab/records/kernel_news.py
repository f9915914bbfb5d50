"""Keeps a message about an optional kernel out of what is looked at.

bitsandbytes looks for it when it is imported, by peft or transformers for instance, and
does without: that stood in red under the first cell of a notebook.
"""

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def without_kernel_news() -> Iterator[None]:
    """Leave this message out, and no other.

    Examples
    --------
    >>> from ftlab.records.kernel_news import without_kernel_news
    >>> with without_kernel_news():
    ...     import torch
    """
    log = logging.getLogger("bitsandbytes.backends.cpu.ops")
    log.addFilter(_is_other)
    try:
        yield
    finally:
        log.removeFilter(_is_other)


def _is_other(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("Failed to load CPU gemm_4bit_forward")
