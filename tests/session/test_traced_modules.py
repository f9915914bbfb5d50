"""Models with a part that torch.jit traced: watched and tried as any other."""

import pytest
import torch

import ftlab


@pytest.fixture
def loop():
    torch.manual_seed(0)
    tower = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    traced = torch.jit.trace(tower, torch.ones(2, 4))
    model = torch.nn.Sequential(traced, torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(batch):
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def test_preflight_tries_it_and_puts_its_buffers_back(loop):
    model, optimizer, step = loop
    before = {n: t.detach().clone() for n, t in model.state_dict().items()}
    checklist = ftlab.preflight(
        model, optimizer=optimizer, step=step, batch=torch.randn(8, 4)
    )
    assert len(checklist) > 1
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_it_is_watched(loop, tmp_path):
    pytest.importorskip("bitsandbytes")  # with it 4-bit layers are looked for
    model, optimizer, step = loop
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for _ in range(3):
            step(torch.randn(8, 4))
    assert len(watch.run.steps) == 3
