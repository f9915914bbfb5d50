"""What is installed, held against combinations that are known to be bad."""

import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from ftlab.laboratory.doctor import probes
from ftlab.records.diagnosis import Diagnosis

PACKAGES = (
    "torch",
    "numpy",
    "transformers",
    "peft",
    "trl",
    "accelerate",
    "bitsandbytes",
    "datasets",
    "tokenizers",
    "safetensors",
    "flash-attn",
    "deepspeed",
    "unsloth",
    "ipykernel",
    "jupyterlab",
    "ftlab",
)


def versions() -> Iterator[Diagnosis]:
    """Tell the versions, and which combinations are bad."""
    installed = {name: found for name in PACKAGES if (found := _version(name))}
    words = ", ".join(f"{name} {found}" for name, found in installed.items())
    yield Diagnosis("versions", "installed", "works", words)
    bad = [each for entry in known_bad() if (each := _judged(entry, installed))]
    yield from bad
    if not bad:
        count = len(known_bad())
        says = f"none of {count} combinations that are known to be bad"
        yield Diagnosis("versions", "combinations", "works", says)


@functools.cache
def known_bad() -> tuple[Mapping[str, Any], ...]:
    """Read the table of bad combinations."""
    text = Path(__file__).with_name("known_bad.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["bad"])


def _judged(entry: Mapping[str, Any], installed: Mapping[str, str]) -> Diagnosis | None:
    """Tell of a combination that is there; a probe decides where there is one."""
    for name, wanted in entry["when"].items():
        has = installed.get(name)
        if has is None or not SpecifierSet(wanted).contains(has, prereleases=True):
            return None
    if entry.get("cpu", "") not in _cpu():
        return None
    what = " with ".join(entry["when"])
    shown = getattr(probes, entry["probe"]) if "probe" in entry else None
    says, source = entry["says"], entry["source"]
    if shown is not None and _runs(shown):
        return Diagnosis("versions", what, "works", f"not so here: {says}", "", source)
    says = says if shown is None else f"{says} (shown here)"
    health = entry.get("health", "fails")
    return Diagnosis("versions", what, health, says, entry["fix"], source)


def _runs(shown: Callable[[], bool]) -> bool:
    """Run a probe: what it needs may not be there, which is then told elsewhere."""
    try:
        return shown()
    except ImportError:
        return True


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


@functools.cache
def _cpu() -> frozenset[str]:
    """Return the processor's features, where Linux tells; and what needs none."""
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return frozenset(("", *text.split()))
