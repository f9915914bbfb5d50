"""Errors of CUDA: what they mean for this process, and what to do."""

import os
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from ftlab.probes.contexts.cuda_start import cuda_started_at

_FORKED = (
    "This process was forked from one that uses CUDA, and a fork cannot use it again. "
    "Let workers make CPU tensors only, or start them anew: "
    "DataLoader(multiprocessing_context='spawn')."
)
_ORDINAL = "That device is none of those this process sees."
_ASSERT = (
    "A kernel was given an index out of range: most often a token id, a position or a "
    "label that is not below the size of its table. ftlab.tokens and ftlab.masks show "
    "the batch; on the CPU the same step names the operation."
)
_LOST = (
    "Every later call of CUDA in this process fails too: start it anew, or the kernel. "
    "CUDA_LAUNCH_BLOCKING=1 lets the error come from the line that has caused it."
)

_MEANS = (
    ("re-initialize CUDA in forked subprocess", (_FORKED,)),
    ("invalid device ordinal", (_ORDINAL,)),
    ("device-side assert", (_ASSERT, _LOST)),
    ("CUDA error|CUBLAS_STATUS|CUDNN_STATUS", (_LOST,)),
)
"""What a message says, and what that means; PyTorch, "CUDA semantics" and
"Multiprocessing best practices"."""


def cuda_words(error: BaseException, model: torch.nn.Module) -> Iterator[str]:
    """Yield lines on an error of CUDA or of mixed devices; none on another one."""
    text = str(error)
    for said, means in _MEANS:
        if re.search(said, text):
            yield "ftlab: " + means[0]
            yield from means[1:]
            yield _about()
            return
    if "tensors to be on the same device" in text:
        where: Counter[Any] = Counter(each.device for each in model.parameters())
        yield "ftlab: a batch, or a tensor made in the loop, is on another device."
        yield "parameters: " + ", ".join(f"{n} on {each}" for each, n in where.items())


def _about() -> str:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "not set")
    started = cuda_started_at() or "before ftlab was asked to watch"
    count = torch.cuda.device_count()
    return (
        f"CUDA was initialised at: {started}. CUDA_VISIBLE_DEVICES: {visible}; "
        f"this process sees {count}."
    )
