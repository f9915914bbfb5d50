"""TIM003: something is compiled again and again, or was once."""

import pytest
import torch

import ftlab
from ftlab.records.step_time import HotPlace
from ftlab.rules.time.slow_within_the_step import _compiles, _groups

STEPS = 12
FOUND = HotPlace("forward", "train.py:4", "step", "loss(x)", "torch._dynamo _fn", 50)


@pytest.mark.parametrize("again", [True, False])
def test_it_must_have_been_compiled_in_several_steps(tmp_path, again):
    torch.compiler.reset()
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loss = torch.compile(torch.mean, backend="eager", dynamic=False)
    limit = torch._dynamo.config.patch(recompile_limit=64)
    with limit, ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for step in range(STEPS):
            loss(model(torch.ones(2 + step * again, 4))).backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.compiler.reset()
    told = _compiles(watch.run, (4, STEPS - 1))
    assert told == again
    assert [each[0] for each in _groups((FOUND,), again=told)] == again * ["compiling"]
