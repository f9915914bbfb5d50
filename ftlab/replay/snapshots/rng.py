"""The states of random generators in a snapshot."""

from collections.abc import Mapping
from typing import Any

from ftlab.replay.capsules.rng import RngState
from ftlab.replay.snapshots.codec import Packer, Unpacker


def pack_rng(rng: RngState, packer: Packer, place: str) -> dict[str, Any]:
    """Return the states' entry in the manifest."""
    return {
        "python": packer.pack(rng.python, f"{place}.python"),
        "numpy": packer.pack(rng.numpy, f"{place}.numpy"),
        "cpu": packer.pack(rng.cpu, f"{place}.cpu"),
        "devices": packer.pack(list(rng.devices), f"{place}.devices"),
    }


def load_rng(packed: Mapping[str, Any], unpacker: Unpacker) -> None:
    """Give all generators the states of their entry, as many devices as there are."""
    devices = unpacker.unpack(packed["devices"])
    RngState(
        python=unpacker.unpack(packed["python"]),
        numpy=unpacker.unpack(packed["numpy"]),
        cpu=unpacker.unpack(packed["cpu"]),
        devices=tuple(devices[: len(RngState.take().devices)]),
    ).restore()
