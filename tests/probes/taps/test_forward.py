"""What the model was called with, and in which mode."""

import torch

from ftlab.probes.probe import Probe
from tests.models import batches, tiny_llama
from tests.probes.recording import Recording


class Inputs(Probe):
    name = "inputs"

    def __init__(self):
        self.seen = []

    def on_batch(self, moment, inputs):
        self.seen.append((moment.step, dict(inputs)))
        return ()


def test_positional_inputs_get_their_parameter_names():
    model, probe = tiny_llama(), Inputs()
    batch = next(batches(1))
    with Recording(model, probes=[probe]):
        model(batch["input_ids"], labels=batch["labels"])
    ((step, inputs),) = probe.seen
    assert step == 0
    assert set(inputs) == {"input_ids", "labels"}


def test_each_micro_batch_is_shown_once_and_to_its_step():
    torch.manual_seed(0)
    model, probe = torch.nn.Linear(4, 1), Inputs()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[probe]):
        for _ in range(2):
            for _ in range(2):
                model(torch.zeros(1, 4))
                model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
    assert [step for step, _ in probe.seen] == [0, 0, 1, 1]
    assert all(inputs["input"].shape == (1, 4) for _, inputs in probe.seen)


def test_an_evaluation_that_keeps_graphs_is_replaced_by_the_training_batch():
    model, probe = torch.nn.Linear(4, 1), Inputs()
    with Recording(model, probes=[probe]) as recording:
        model.eval()(torch.zeros(1, 4))
        model.train()(torch.ones(2, 4)).sum().backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert probe.seen[-1][1]["input"].shape == (2, 4)
    modes = [e.detail["mode"] for e in recording.ledger(0) if e.op == "forward"]
    assert modes == ["eval", "train"]


def test_a_copy_of_the_model_is_not_the_model():
    import copy

    model, probe = torch.nn.Linear(4, 1), Inputs()
    with Recording(model, probes=[probe]):
        copy.copy(model)(torch.ones(2, 4))  # shares the hooks, as replicas do
    assert probe.seen == []
