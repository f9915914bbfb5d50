"""Probes look at weights before the loop's next operation, once for all layers."""

from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.probes.probe import Probe
from tests.probes.recording import Recording


class Noting(Probe):
    """Notes what it is told."""

    name = "noting"

    def __init__(self):
        self.told = []

    def on_merge(self, moment, layer, path, when):
        self.told.append((when, path.rpartition(".")[2]))
        return ()

    def on_adapters(self, moment, operations):
        self.told.append(sorted(operations))
        return ()


def noted(act, model=None):
    model = lora(target_modules=["q_proj"]) if model is None else model
    optimizer, probe = adamw(model), Noting()
    with Recording(model, optimizer, probes=[probe]):
        model(**batches()[0]).loss.backward()
        optimizer.step()
        act(model)
        assert all(isinstance(each, tuple) for each in probe.told)
        optimizer.zero_grad()
        model(**batches()[0])
    return probe.told


def test_layers_are_told_one_by_one_and_probes_look_once():
    assert noted(lambda model: model.merge_adapter()) == [
        *[("before merge", "q_proj"), ("after merge", "q_proj")] * 2,
        ["merge"],
    ]


def test_what_was_done_in_between_is_looked_at_together():
    def cycle(model):
        model.merge_adapter()
        model.unmerge_adapter()

    assert noted(cycle)[-1] == ["merge", "unmerge"]
    assert noted(cycle).count(["merge", "unmerge"]) == 1


def test_an_unload_is_known_by_its_layers_when_it_was_not_heard():
    model = lora(target_modules=["q_proj"])
    early = model.merge_and_unload
    assert noted(lambda _: early(), model)[-1] == ["merge", "unload"]


def test_another_model_is_passed_over():
    other = lora()
    assert noted(lambda _: other.merge_adapter()) == []
