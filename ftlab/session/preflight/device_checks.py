"""Layer *device*: everything is where it can meet, and on the device there is."""

import shutil
from collections import Counter
from typing import Any

import torch

from ftlab.records.attributes import attribute_of
from ftlab.records.checklist import CheckItem
from ftlab.records.finding import Severity
from ftlab.records.name_words import in_words
from ftlab.rules.words import counted, listed
from ftlab.session.preflight.saying import Check, Fault, Items
from ftlab.session.preflight.seen import Seen

_TOGETHER = Check("device", "all weights are on devices")
_USED = Check("device", "the accelerator is used")
_BATCH = Check("device", "the batch can get to the model")
_MEMORY = Check("device", "memory of a dry step")


def device_checks(seen: Seen) -> Items:
    """Yield the items of the layer."""
    yield _together(seen.model)
    visible = torch.accelerator.current_accelerator(check_available=True)
    yield _used(seen.model, visible)
    yield from _batch(seen)
    yield from _memory(seen)


def _together(model: torch.nn.Module) -> CheckItem:
    named = list(model.named_parameters())
    where = Counter(str(p.device) for _, p in named)
    words = listed([f"{count} on {place}" for place, count in sorted(where.items())], 8)
    empty = [name for name, p in named if p.is_meta]
    if empty:
        return _TOGETHER.failed(
            Fault(
                f"{counted(len(empty), 'weight')} have no values (device meta): "
                f"{in_words(empty)}",
                cause="They were created empty and never loaded, or were offloaded to "
                "disk.",
                fix="Load the checkpoint without offloading: a device_map that fits, "
                "or model.to_empty and load_state_dict.",
                places=[("param", name) for name in empty[:64]],
            ),
            meta=len(empty),
        )
    mapped = attribute_of(model, "hf_device_map")
    if len(where) > 1 and not mapped:
        rare = min(where, key=lambda place: where[place])
        odd = [name for name, p in named if str(p.device) == rare]
        return _TOGETHER.failed(
            Fault(
                f"weights are on {len(where)} devices without a device map: {words}; "
                f"on {rare}: {in_words(odd)}",
                cause="A part was added or moved after model.to(device).",
                fix="model.to(device) again, before the optimizer is built.",
                places=[("param", name) for name in odd[:64]],
            ),
            **dict(where),
        )
    return _TOGETHER.passed(f"weights: {words}")


def _used(model: torch.nn.Module, there: torch.device | None) -> CheckItem:
    """Compare where the model is with the accelerator that torch sees."""
    kinds = {p.device.type for p in model.parameters()}
    if there is not None:
        name = f"a device of type {there.type} is visible"
        if kinds - {"cpu", "meta"}:
            return _USED.passed(f"the model is on {listed(sorted(kinds))}; {name}")
        return _USED.failed(
            Fault(
                f"the model is on the CPU, but {name}",
                cause="It was not moved, or the arguments say use_cpu.",
                fix=f"model.to({there.type!r}) before the optimizer is built, or "
                "use_cpu=False.",
                places=[("object", type(model).__name__)],
                severity=Severity.WARNING,
            )
        )
    if shutil.which("nvidia-smi") and not torch.version.cuda:
        return _USED.failed(
            Fault(
                "this machine has an NVIDIA driver, but torch was built without CUDA",
                cause="pip installed the CPU build of torch.",
                fix="Install torch from the CUDA index: see pytorch.org/get-started.",
                places=[("config", "torch")],
                severity=Severity.WARNING,
            )
        )
    return _USED.passed("torch sees no accelerator; training runs on the CPU")


def _batch(seen: Seen) -> Items:
    """Tell on which devices the batch is; a loop must move it where it differs."""
    where = {str(value.device) for value in seen.batch.values()}
    home = next(seen.model.parameters()).device
    if not where:
        return
    if where == {str(home)} or seen.given.trainer is not None:
        yield _BATCH.passed(f"batch on {listed(sorted(where))}, model on {home}")
    else:
        yield _BATCH.passed(
            f"batch on {listed(sorted(where))}, model on {home}: your loop must move "
            "it, batch.to(model.device), as the dry step did"
        )


def _memory(seen: Seen) -> Items:
    if not torch.cuda.is_available() or not seen.dry.losses:
        return
    free, total = torch.cuda.mem_get_info()
    peak = torch.cuda.max_memory_allocated()
    gib: Any = 2**30
    yield _MEMORY.passed(
        f"at most {peak / gib:.3g} of {total / gib:.3g} GiB allocated, "
        f"{free / gib:.3g} GiB free now; longer rows need more",
        peak_bytes=peak,
        total_bytes=total,
    )
