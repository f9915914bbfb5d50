"""The GPU, memory, disks and variables of the environment."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import psutil
import torch

from ftlab.laboratory.memory.room import container_memory
from ftlab.records.diagnosis import Diagnosis, Health
from ftlab.records.sizes import size

LEAST_DISK = 20 * 2**30
"""Free bytes of a disk below which a checkpoint of a 7B model, 14 GB, is at risk."""

LEAST_SHARED = 2**30
"""Shared memory below which loaders' workers fail; Docker's default is 64 MB."""

Variables = Mapping[str, str]


def devices() -> Iterator[Diagnosis]:
    """Tell what GPUs there are, and who else uses them."""
    if not torch.cuda.is_available():
        built = torch.version.cuda
        says = f"torch is built for CUDA {built}" if built else "torch is a CPU build"
        fix = "nvidia-smi shows whether the driver sees a GPU" if built else ""
        yield Diagnosis("device", "CUDA", "noted", f"no CUDA device: {says}", fix)
        return
    for number in range(torch.cuda.device_count()):
        found = torch.cuda.get_device_properties(number)
        free, whole = torch.cuda.mem_get_info(number)
        says = (
            f"compute capability {found.major}.{found.minor}, {size(free)} of "
            f"{size(whole)} free, CUDA {torch.version.cuda}"
        )
        wanted = f"sm_{found.major}{found.minor}"
        known = any(each.startswith(wanted[:4]) for each in torch.cuda.get_arch_list())
        fix = (
            "" if known else f"this torch has no kernels for {wanted}: install another"
        )
        health: Health = "works" if known else "fails"
        yield Diagnosis("device", f"cuda:{number} {found.name}", health, says, fix)
    driver = _driver()
    if driver:
        yield Diagnosis("device", "driver", *_of_driver(driver))
    for number in range(torch.cuda.device_count()):
        with contextlib.suppress(Exception):  # needs nvidia-ml-py
            told = torch.cuda.list_gpu_processes(number)
            others = [e for e in told.splitlines()[1:] if str(os.getpid()) not in e]
            if others:
                says = "; ".join(each.strip() for each in others)
                yield Diagnosis("device", "other processes", "noted", says)


def _driver() -> list[tuple[str, str]]:
    """Return driver version and compute mode of each GPU, where they are told."""
    command = ["nvidia-smi", "--query-gpu=driver_version,compute_mode"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            [*command, "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        rows = [line.split(", ") for line in done.stdout.splitlines()]
        return [(row[0], row[1]) for row in rows if len(row) == 2]
    return []


def _of_driver(driver: Sequence[tuple[str, str]]) -> tuple[Health, str, str]:
    """Say what the driver is, and whether GPUs are open to more than one process."""
    closed = [mode for _, mode in driver if mode != "Default"]
    says = f"driver {driver[0][0]}, compute mode {driver[0][1]}"
    if not closed:
        return "works", says, ""
    fix = "nvidia-smi --compute-mode=0 lets several processes use a GPU"
    modes = ", ".join(dict.fromkeys(closed))
    says = f"driver {driver[0][0]}, compute mode of {len(closed)} GPU: {modes}"
    return "noted", says, fix


def machine(folder: Path) -> Iterator[Diagnosis]:
    """Tell free memory and disks, as far as this process may use them."""
    cores, able = os.cpu_count() or 1, len(psutil.Process().cpu_affinity() or [])
    says = f"{able or cores} of {cores} processors, {torch.get_num_threads()} threads"
    yield Diagnosis("machine", "processors", "works", says)
    memory = psutil.virtual_memory()
    says = f"{size(memory.available)} of {size(memory.total)} available"
    if (container := container_memory()) is not None:
        limit, used = container
        says += f"; this container may use {size(limit)} and uses {size(used)}"
    yield Diagnosis("machine", "memory", "works", says)
    places = {
        "this folder": folder,
        "temporary files": Path(tempfile.gettempdir()),
        "Hugging Face's cache": Path(
            os.environ.get("HF_HOME", "~/.cache/huggingface")
        ).expanduser(),
    }
    for what, place in places.items():
        there = next(p for p in (place, *place.parents) if p.exists())
        free = shutil.disk_usage(there).free
        low = free < LEAST_DISK
        fix = (
            "Free some, or save elsewhere: full disks cut checkpoints off."
            if low
            else ""
        )
        health: Health = "noted" if low else "works"
        yield Diagnosis("machine", f"disk of {what}", health, f"{size(free)} free", fix)
    shared = Path("/dev/shm")
    if shared.is_dir():
        free = shutil.disk_usage(shared).free
        low = free < LEAST_SHARED
        fix = "docker run --shm-size=8g, or DataLoader(num_workers=0)." if low else ""
        health = "fails" if low else "works"
        yield Diagnosis("machine", "shared memory", health, f"{size(free)} free", fix)


def environment(variables: Variables) -> Iterator[Diagnosis]:
    """Tell variables that contradict each other, or that slow everything down."""
    found = [each for look in _LOOKS for each in look(variables)]
    for what, says, fix in found:
        yield Diagnosis("environment", what, "noted", says, fix)
    if not found:
        yield Diagnosis("environment", "variables", "works", "no conflict is known")


Told = Iterator[tuple[str, str, str]]


def _visible(variables: Variables) -> Told:
    asked = variables.get("CUDA_VISIBLE_DEVICES")
    if asked in ("", "-1"):
        yield "CUDA_VISIBLE_DEVICES", f"is {asked!r}: no GPU is visible", "Unset it."
    elif asked and torch.cuda.is_available():
        count = len([each for each in asked.split(",") if each.strip()])
        if count != torch.cuda.device_count():
            says = f"is {asked!r}, and {torch.cuda.device_count()} devices are visible"
            fix = "It counts from 0 in the order of CUDA_DEVICE_ORDER."
            yield "CUDA_VISIBLE_DEVICES", says, fix


_SLOW = {
    "CUDA_LAUNCH_BLOCKING": "each kernel is waited for",
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "each tensor is allocated anew",
    "TORCH_COMPILE_DISABLE": "torch.compile does nothing",
    "TORCHDYNAMO_DISABLE": "torch.compile does nothing",
    "NCCL_P2P_DISABLE": "GPUs talk through the host",
    "TORCH_SHOW_CPP_STACKTRACES": "each error takes seconds",
    "ACCELERATE_USE_CPU": "accelerate trains on the CPU",
}


def _slow(variables: Variables) -> Told:
    for name, means in _SLOW.items():
        if variables.get(name, "0").lower() in ("1", "true", "yes"):
            yield (
                name,
                f"is set: {means}",
                "Unset it when you have seen what you wanted.",
            )


def _contradicting(variables: Variables) -> Told:
    on = {n for n, v in variables.items() if v.lower() in ("1", "true", "yes", "on")}
    if "TRANSFORMERS_OFFLINE" in on and "HF_HUB_OFFLINE" not in on:
        says = "is set without HF_HUB_OFFLINE, which datasets and PEFT read"
        yield "TRANSFORMERS_OFFLINE", says, "Set HF_HUB_OFFLINE=1 in its place."
    both = {"WANDB_DISABLED", "WANDB_MODE"} <= variables.keys()
    if both and variables["WANDB_MODE"] == "online":
        yield "WANDB_DISABLED", "is set, and WANDB_MODE is online", "Keep one of them."
    rank = variables.get("LOCAL_RANK")
    if rank is not None and "WORLD_SIZE" not in variables:
        says = (
            f"is {rank} without WORLD_SIZE: a launcher's variables have stayed behind"
        )
        yield "LOCAL_RANK", says, "Unset it, or start with torchrun."
    threads = variables.get("OMP_NUM_THREADS", "")
    if threads.isdigit() and int(threads) > (os.cpu_count() or 1):
        says = f"is {threads}, with {os.cpu_count()} processors"
        yield "OMP_NUM_THREADS", says, "Set it to the processors of one process."


_LOOKS = (_visible, _slow, _contradicting)
