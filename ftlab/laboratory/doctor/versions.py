"""What is installed, held against combinations that are known to be bad."""

import functools
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from ftlab.laboratory.doctor import probes
from ftlab.records.diagnosis import Diagnosis

PACKAGES = (
    "torch",
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
    if shown is None:
        return Diagnosis(
            "versions", what, "fails", entry["says"], entry["fix"], entry["source"]
        )
    if shown():
        says = f"not so here: {entry['says']}"
        return Diagnosis("versions", what, "works", says, source=entry["source"])
    says = f"{entry['says']} (shown here)"
    return Diagnosis("versions", what, "fails", says, entry["fix"], entry["source"])


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
