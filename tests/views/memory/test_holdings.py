"""Names of any length leave room for the bars."""

import warnings

from ftlab.records.holdings import Holding, Holdings, ProcessMemory
from ftlab.views.memory.holdings import HoldingsView
from ftlab.views.view import png

LONG = f"kernel.{'comms.' * 40}value"


def test_a_long_name_is_shortened_and_whole_in_the_table():
    held = (
        Holding("weights", "model", "Llama", 4 * 2**20, 12),
        Holding("other objects", LONG, "bytes", 2048, 1),
    )
    view = HoldingsView(Holdings(held, ProcessMemory(1e9, 1e8)))
    figure = view.figure()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        png(figure)
    (axis,) = figure.axes
    assert axis.get_position().width > 0.5
    assert {each.get_text() for each in axis.texts} == {"4 MiB", "2 KiB"}
    assert LONG not in repr(view)
    assert max(map(len, repr(view).splitlines())) < 100
    assert LONG in list(view.table()["path"])
