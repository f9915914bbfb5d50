"""What is allocated in each phase of a step."""

import numpy as np
import pytest
import torch

import ftlab
from ftlab.probes.holding.leaks import DENSE, PHASED, SPARSE
from tests.models import batches, tiny_llama

PHASES = ("idle", "forward", "backward", "update")


def test_phases_have_what_they_leave(tmp_path):
    model = tiny_llama(hidden_size=128, vocab_size=2000)
    weights = sum(each.nbytes for each in model.parameters())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for batch in batches(8):
            loss = model(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            del loss
    idle, forward, backward, update = (
        np.median(watch.run.steps[f"{each}_bytes"][4:]) for each in PHASES
    )
    logits = 4 * 16 * 2000 * 4
    assert forward - idle > logits  # and the activations
    assert backward - idle == pytest.approx(weights, rel=0.1)  # the gradients
    assert update == pytest.approx(backward, abs=0.1 * weights)


def test_phases_are_read_at_first_and_then_seldom(tmp_path):
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    with ftlab.watch(model, optimizer, run_dir=tmp_path / "run") as watch:
        for _ in range(2 * SPARSE + 2):
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    read = np.flatnonzero(np.isfinite(watch.run.steps["forward_bytes"]))
    assert read.tolist() == [*range(PHASED), SPARSE, 2 * SPARSE]
    assert np.isfinite(watch.run.steps["idle_bytes"][:DENSE]).all()
