"""Keeps compiled code from hiding its operations while a step is replayed."""

import contextlib
import sys
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def run_eagerly() -> Iterator[None]:
    """Run compiled functions as plain Python within a ``with`` block.

    Their results may differ in the last bits; the report says so when the loss does.
    """
    if "torch._dynamo" not in sys.modules:  # nothing is compiled; loading it is slow
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield
