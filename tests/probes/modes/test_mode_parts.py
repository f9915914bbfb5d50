"""What depends on the mode, and which parts of a model are in evaluation mode."""

import torch
from torch import nn

from ftlab.faults.builders.tiny import batches, lora
from ftlab.probes.modes.mode_parts import parts_of, regions_of


class Attention(nn.Module):
    def __init__(self, chance):
        super().__init__()
        self.query = nn.Linear(2, 2)
        self.attention_dropout = chance


def model():
    blocks = [nn.Sequential(Attention(0.1), nn.Dropout(0.2)) for _ in range(2)]
    return nn.Sequential(nn.Linear(2, 2), nn.ModuleList(blocks), nn.Dropout(0.0))


def off(made):
    return {r.path: len(r.off) for r in regions_of(made, parts_of(made))}


def test_dropouts_above_zero_count_whether_modules_or_numbers():
    made = model()
    found = [(part.path, part.kind, part.p) for part in parts_of(made)]
    assert found == [
        ("1.0.0", "dropout", 0.1),
        ("1.0.1", "dropout", 0.2),
        ("1.1.0", "dropout", 0.1),
        ("1.1.1", "dropout", 0.2),
    ]


def test_batch_norms_count_where_they_keep_statistics():
    kept, not_kept = nn.BatchNorm1d(2), nn.BatchNorm1d(2, track_running_stats=False)
    (part,) = parts_of(nn.Sequential(kept, not_kept))
    assert (part.path, part.kind) == ("0", "statistics")


def test_a_recurrent_layer_drops_between_layers_only():
    one, two = nn.LSTM(2, 2, 1), nn.LSTM(2, 2, 2, dropout=0.5)
    one.dropout = 0.5
    assert [part.path for part in parts_of(nn.ModuleList([one, two]))] == ["1"]


def test_the_highest_module_in_evaluation_mode_is_named_once():
    made = model().train()
    made[1][0].eval()
    assert off(made) == {"1.0": 2}
    assert off(made.eval()) == {"": 4}
    assert off(made.train()) == {}


def test_what_is_in_training_mode_within_it_does_not_count():
    made = model().eval()
    made[1][1][1].train()
    assert off(made) == {"": 3}


def test_a_single_module_knows_its_block():
    made = model().train()
    made[1][1][1].eval()
    (region,) = regions_of(made, parts_of(made))
    assert region.single
    assert region.block is made[1][1]
    assert isinstance(region.module, torch.nn.Dropout)


def test_the_dropout_of_an_adapter_learns_when_the_adapter_does():
    model = lora(lora_dropout=0.1)
    model.add_adapter("other", model.peft_config["default"])
    model(**batches()[0]).loss.backward()
    found = parts_of(model)
    assert found
    assert all(type(part.layer()).__name__ == "Linear" for part in found)
    assert [p.path for p in found if p.learns] == [
        part.path for part in found if part.path.endswith(".default")
    ]


def test_a_dropout_of_the_base_is_no_adapter_s():
    (part,) = parts_of(nn.Sequential(nn.Dropout(0.1)))
    assert part.layer is None
    assert not part.learns
