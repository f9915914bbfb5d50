"""Where the generators of random numbers stand behind each step."""

import array
import ctypes
import random
import zlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from ftlab.probes.probe import Moment, Probe
from ftlab.records.step import Column

_KEPT = (1 << 24) - 1
_TWISTER = 625 * 4
"""Bytes of a Mersenne twister: 624 words and the place among them."""


class RngStates(Probe):
    """Take a digest of each global generator: equal ones go on drawing the same.

    Nothing is drawn. 24 bits of a CRC-32 are kept, which float32 holds exactly.
    """

    columns: ClassVar[Sequence[Column]] = (
        Column("rng_python", "1", "Digest of the state of Python's random."),
        Column("rng_numpy", "1", "Digest of the state of numpy.random."),
        Column("rng_torch", "1", "Digest of the state of torch's generator, CPU."),
        Column("rng_cuda", "1", "Digest of the states of torch's generators, CUDA."),
    )

    def on_close(self, moment: Moment) -> dict[str, float]:
        """Read the states, on the host."""
        return rng_digests()


def rng_digests() -> dict[str, float]:
    """Return a digest of each global generator, by column.

    Examples
    --------
    >>> import torch
    >>> from ftlab.probes.seeds.rng_states import rng_digests
    >>> _ = torch.manual_seed(0)
    >>> before = rng_digests()
    >>> _ = torch.rand(1)
    >>> [name for name, value in rng_digests().items() if value != before[name]]
    ['rng_torch']
    """
    found = {
        "rng_python": array.array("I", random.getstate()[1]).tobytes(),
        "rng_numpy": _numpy(),
        "rng_torch": _bytes(torch.default_generator),
    }
    if torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing():
        # on the host: a generator of CUDA is a seed and an offset
        found["rng_cuda"] = b"".join(map(_bytes, torch.cuda.default_generators))
    return {name: float(zlib.crc32(each) & _KEPT) for name, each in found.items()}


def _numpy() -> bytes:
    numpy_random: Any = np.random
    generator = numpy_random.get_bit_generator()
    if type(generator) is np.random.MT19937:  # asking for its state takes 24 us
        return ctypes.string_at(generator.ctypes.state_address, _TWISTER)
    state: Any = np.random.get_state(legacy=True)  # noqa: NPY002  users draw from it
    return bytes(state[1].tobytes()) + int(state[2]).to_bytes(4, "little")


def _bytes(generator: torch.Generator) -> bytes:
    return generator.get_state().numpy().tobytes()
