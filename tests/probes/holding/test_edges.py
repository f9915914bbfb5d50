"""Variables of running functions are read, and nothing is left behind or taken away."""

import sys
import weakref

import torch

from ftlab.probes.holding.edges import variables


def test_reading_variables_keeps_none_of_them_alive() -> None:
    tensor = torch.zeros(3)
    seen = weakref.ref(tensor)
    assert variables(sys._getframe())["tensor"] is tensor
    del tensor
    assert seen() is None


def test_what_locals_has_returned_stays_whole() -> None:
    kept = locals()
    kept["added"] = 1
    variables(sys._getframe())
    assert kept["added"] == 1
