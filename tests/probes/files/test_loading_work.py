"""What a loop hears of loading, told by hand."""

import copy
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from ftlab.faults.builders.tiny import lora
from ftlab.probes.files.loading_work import SETTINGS, LoadingWork

READ = SimpleNamespace(missing_keys=[], unexpected_keys=[])


class Notes:
    """A ledger that is a list."""

    def __init__(self):
        self.entries = []

    def add(self, op, target, **detail):
        self.entries.append((op, target, detail))


class Work(LoadingWork):
    """The work on one model, with as little around it as it needs."""

    def __init__(self, model, optimizer=None):
        super().__init__()
        self.notes = Notes()
        self._steps = SimpleNamespace(
            now=SimpleNamespace(ledger=self.notes),
            subject=SimpleNamespace(
                model=model, optimizers=[optimizer] if optimizer else []
            ),
            watched=SimpleNamespace(
                tensors=SimpleNamespace(parameters=tuple(model.parameters()))
            ),
        )

    def load(self, owner, state):
        """Load as torch does; return what was noted."""
        self.before_load(owner, state, None)
        owner.load_state_dict(state)
        self.after_load(owner, state, READ)
        return [detail for _, _, detail in self.notes.entries]


def test_a_state_dict_is_fresh_until_the_next_update():
    model = nn.Linear(2, 2)
    work, own = Work(model), model.state_dict()
    work.weights_updated()
    work.after_state_dict(model, own)
    assert work.load(model, own)[-1]["fresh"] is True
    work.weights_updated()
    assert work.load(model, own)[-1]["fresh"] is False


def test_a_write_since_the_update_makes_it_fresh():
    model = nn.Linear(2, 2)
    work, own = Work(model), model.state_dict()
    work.weights_updated()
    with torch.no_grad():
        model.weight.add_(1.0)
    assert work.load(model, own)[-1]["fresh"] is True


def test_copies_are_not_asked_how_old_they_are():
    model = nn.Linear(2, 2)
    (detail,) = Work(model).load(model, copy.deepcopy(model.state_dict()))
    assert detail == {"adapter": "", "keys": 2, "aliased": 0, "of": 2, "matched": 2}


def test_parts_and_what_is_around_are_ours_and_others_are_not():
    model = nn.Sequential(nn.Linear(2, 2))
    around, other = nn.Sequential(model), nn.Linear(2, 2)
    work = Work(model)
    for owner in (model[0], around, other):
        work.load(owner, copy.deepcopy(owner.state_dict()))
    assert len(work.notes.entries) == 2


@pytest.mark.parametrize("state", [None, [1, 2], {"weight": "no tensor"}, {3: None}])
def test_whatever_is_given_nothing_is_raised(state):
    model = nn.Linear(2, 2)
    work = Work(model)
    work.before_load(model, state, None)
    work.after_load(model, state, None)
    work.after_state_dict(model, state)
    work.after_adapter_load(model, state, "default")
    work.notes.entries.clear()
    assert len(work.load(model, copy.deepcopy(model.state_dict()))) == 1


def test_an_answer_without_a_question_says_nothing():
    model = nn.Linear(2, 2)
    work = Work(model)
    work.after_load(model, {}, READ)
    assert work.notes.entries == []
    work.load(model, model.state_dict())
    work.after_load(model, {}, READ)
    assert len(work.notes.entries) == 1


def test_that_adapters_were_taken_is_known_until_the_next_update():
    model = lora()
    work = Work(model)
    work.after_state_dict(model, {"head.weight": torch.zeros(1)})
    assert not work.adapter_taken
    work.after_state_dict(model, model.state_dict())
    assert work.adapter_taken
    work.weights_updated()
    assert not work.adapter_taken


def test_taken_tensors_are_not_kept_alive():
    model = nn.Linear(2, 2)
    work, state = Work(model), {"weight": torch.zeros(2, 2)}
    work.after_state_dict(model, state)
    (held,) = work._taken
    del state
    assert held() is None


def test_settings_are_noted_where_they_are_others_than_the_folders(tmp_path):
    lora(lora_alpha=64).save_pretrained(tmp_path)
    model = lora()
    work = Work(model)
    work.after_adapter_load(model, tmp_path, "default")
    ((op, target, detail),) = work.notes.entries
    assert (op, target, detail["adapter"]) == ("load", SETTINGS, "default")
    work.after_adapter_load(model, tmp_path / "nowhere", "default")
    assert len(work.notes.entries) == 1


def test_an_optimizer_is_named_by_its_place_and_another_is_not_ours():
    model = nn.Linear(2, 2)
    mine, other = (torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2))
    work = Work(model, mine)
    work.after_optimizer_load(other)
    work.after_optimizer_load(mine)
    assert [target for _, target, _ in work.notes.entries] == ["optimizer 0"]
