"""A replay counts the operations as the survey did, wherever it stops."""

from typing import Any

import pytest
import torch

import ftlab
from tests.replay.breakage import Setup
from tests.session.debugging.test_debug import debugging


def from_the_start(dbg: Any) -> None:
    dbg.run()
    dbg.back(count=len(dbg._stop.sites))
    assert dbg.where.site.index == 0


@pytest.mark.parametrize("stride", [1, 7])
def test_a_step_of_lora_is_walked_through_in_the_order_of_its_survey(stride: int):
    seen = []
    with debugging(Setup()) as dbg:
        from_the_start(dbg)
        while dbg.where.site is not None:
            site, ran = dbg.where.site, dbg._stop.op
            assert (site.op, dbg.where.notes) == (str(ran.func), ()), site.index
            _ = (dbg.tensor, dbg.inputs, repr(dbg.stack))  # looking holds nothing
            seen.append(site)
            dbg.step(count=stride)
        assert {site.phase for site in seen} == {"forward", "backward"}
        assert [site.index for site in seen] == list(
            range(0, seen[-1].index + 1, stride)
        )


def test_the_start_of_backward_is_no_other_for_a_stop_there():
    """A factory detaches what it returns if somebody else holds it."""
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 1)

    def step(batch):
        (model(batch) * 0).log().sum().backward()

    with ftlab.debug(step, [torch.ones(2, 2)], model=model) as dbg:
        from_the_start(dbg)
        while dbg.where.op != "aten.ones_like.default":
            dbg.step()
        after = dbg.step()
        assert (after.op, after.notes) == ("aten.expand.default", ())
        assert after.op == str(dbg._stop.op.func)


def test_a_stop_lets_go_of_its_values_when_it_is_left():
    with debugging(Setup()) as dbg:
        dbg.run()
        stop = dbg._stop
        assert stop.tensor is not None
        dbg.step()
        assert (stop.tensor, stop.inputs) == (None, ())
