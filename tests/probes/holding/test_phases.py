"""What is allocated in each phase of a step."""

import numpy as np
import pytest
import torch

import ftlab
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
