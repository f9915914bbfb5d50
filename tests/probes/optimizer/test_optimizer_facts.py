import torch
from accelerate import Accelerator
from transformers import get_scheduler

from ftlab.faults.builders.tiny import trainable
from ftlab.probes.naming import named_trainables
from ftlab.probes.optimizer.optimizer_facts import optimizer_facts, scheduler_facts
from tests.models import tiny_llama, tiny_lora

LR = torch.optim.lr_scheduler


def test_reads_groups_with_names_and_ids():
    model = tiny_lora()
    names = [entry.name for entry in named_trainables(model)]
    halves = trainable(model)[:4], trainable(model)[4:]
    optimizer = torch.optim.AdamW(
        [
            {"params": halves[0], "lr": 1e-3},
            {"params": halves[1], "weight_decay": 0.5},
        ],
        lr=1e-4,
        fused=True,
    )
    ids = {name: 10 + index for index, name in enumerate(names)}
    (facts,) = optimizer_facts(model, [optimizer], ids)
    assert (facts["class"], facts["fused"]) == ("AdamW", True)
    assert facts["missing"] == facts["foreign"] == []
    first, second = facts["groups"]
    assert (first["lr"], first["weight_decay"]) == (1e-3, 0.01)
    assert (second["lr"], second["weight_decay"]) == (1e-4, 0.5)
    assert first["names"] == names[:4]
    assert first["ids"] == [10, 11, 12, 13]
    assert first["count"] == 4
    assert "ids" not in optimizer_facts(model, [optimizer])[0]["groups"][0]


def test_names_trainables_that_no_optimizer_holds():
    model = tiny_lora()
    names = [entry.name for entry in named_trainables(model)]
    one = torch.optim.SGD(trainable(model)[:3])
    two = torch.optim.SGD(trainable(model)[5:])
    facts = optimizer_facts(model, [one, two])
    assert facts[0]["missing"] == names[3:5]
    assert "missing" not in facts[1]


def test_a_tied_parameter_is_held_once_for_all_its_names():
    model = tiny_llama(tie_word_embeddings=True)
    (facts,) = optimizer_facts(model, [torch.optim.SGD(model.parameters())])
    assert facts["missing"] == []


def test_sees_through_accelerate():
    model = tiny_lora()
    wrapped = Accelerator(cpu=True).prepare(torch.optim.AdamW(trainable(model)))
    (facts,) = optimizer_facts(model, [wrapped])
    assert facts["class"] == "AdamW"
    assert facts["missing"] == []


def test_hints_at_the_one_parameter_that_took_the_place():
    model = tiny_llama()
    optimizer = torch.optim.SGD(model.parameters())
    model.resize_token_embeddings(160)
    (facts,) = optimizer_facts(model, [optimizer])
    assert facts["missing"] == ["lm_head.weight"]
    (entry,) = facts["foreign"]
    assert entry["shape"] == [128, 64]
    assert entry["name_hint"] == ""
    model.lm_head = torch.nn.Linear(64, 3, bias=False)
    optimizer = torch.optim.SGD(model.parameters())
    model.lm_head = torch.nn.Linear(64, 3, bias=False)
    (facts,) = optimizer_facts(model, [optimizer])
    (entry,) = facts["foreign"]
    assert entry == {
        "shape": [3, 64],
        "dtype": "float32",
        "group": 0,
        "index": len(optimizer.param_groups[0]["params"]) - 1,
        "name_hint": "lm_head.weight",
    }


def test_hints_in_order_for_a_model_that_was_built_anew():
    old, new = tiny_lora(), tiny_lora()
    (facts,) = optimizer_facts(new, [torch.optim.SGD(trainable(old))])
    hints = [entry["name_hint"] for entry in facts["foreign"]]
    assert hints == facts["missing"] == [e.name for e in named_trainables(new)]


def test_says_nothing_of_optimizers_with_flat_copies():
    class Flat(torch.optim.SGD):
        __module__ = "deepspeed.runtime"

    model = tiny_lora()
    (facts,) = optimizer_facts(model, [Flat([torch.nn.Parameter(torch.zeros(9))])])
    assert facts["foreign"] == facts["missing"] == []


def test_reads_what_a_transformers_schedule_was_asked():
    optimizer = torch.optim.SGD(tiny_llama().parameters())
    schedule = get_scheduler(
        "cosine", optimizer, num_warmup_steps=3, num_training_steps=10
    )
    other = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])
    (facts,) = scheduler_facts([schedule], [other, optimizer])
    assert facts["class"] == "LambdaLR"
    assert facts["optimizer_index"] == 1
    assert facts["asked"]["num_warmup_steps"] == 3
    assert facts["asked"]["num_training_steps"] == 10
    assert "cosine" in facts["asked"]["schedule"]


def test_reads_the_arguments_of_torch_s_schedules():
    optimizer = torch.optim.SGD(tiny_llama().parameters(), lr=0.1)
    warm = LR.LinearLR(optimizer, 0.1, total_iters=4)
    cosine = LR.CosineAnnealingLR(optimizer, T_max=20, eta_min=1e-5)
    chain = LR.SequentialLR(optimizer, [warm, cosine], milestones=[4])
    steps = LR.MultiStepLR(optimizer, [5, 9], gamma=0.3)
    plateau = LR.ReduceLROnPlateau(optimizer, patience=7, min_lr=1e-6)
    lost = LR.StepLR(torch.optim.SGD(tiny_llama().parameters()), 2)
    facts = scheduler_facts([chain, steps, plateau, lost], [optimizer])
    asked = [each["asked"] for each in facts]
    assert asked[0]["milestones"] == [4]
    assert asked[0]["schedulers"][0]["total_iters"] == 4
    assert asked[0]["schedulers"][1]["T_max"] == 20
    assert asked[1]["milestones"] == [5, 9]
    assert asked[1]["gamma"] == 0.3
    assert (asked[2]["patience"], asked[2]["min_lrs"]) == (7, [1e-6])
    assert facts[3]["optimizer_index"] is None


def test_milestones_between_whole_numbers_stay_what_they_are():
    optimizer = torch.optim.SGD(tiny_llama().parameters(), lr=0.1)
    (facts,) = scheduler_facts([LR.MultiStepLR(optimizer, [0.5, 0.75])], [optimizer])
    assert facts["asked"]["milestones"] == [0.5, 0.75]


def test_says_which_schedulers_a_chain_holds():
    optimizer = torch.optim.SGD(tiny_llama().parameters(), lr=0.1)
    first, last = LR.LinearLR(optimizer, 0.1), LR.ExponentialLR(optimizer, 0.9)
    other = LR.StepLR(optimizer, 3)
    inner = LR.ChainedScheduler([first, last], optimizer)
    outer = LR.SequentialLR(optimizer, [inner], milestones=[])
    known = [outer, other, last, inner]
    facts = scheduler_facts(known, [optimizer])
    assert [each.get("holds") for each in facts] == [[2, 3], None, None, [2]]


def test_sees_through_accelerate_s_scheduler():
    accelerator = Accelerator(cpu=True)
    optimizer = accelerator.prepare(torch.optim.SGD(tiny_llama().parameters(), lr=1.0))
    schedule = accelerator.prepare(LR.StepLR(optimizer, 3))
    (facts,) = scheduler_facts([schedule], [optimizer])
    assert facts["class"] == "StepLR"
    assert facts["asked"]["step_size"] == 3
    assert facts["optimizer_index"] == 0


def test_hints_at_nothing_where_two_could_have_taken_the_place():
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 3, False), torch.nn.Linear(3, 3, False)
    )
    stale = torch.nn.Parameter(torch.zeros(3, 3))
    (facts,) = optimizer_facts(model, [torch.optim.SGD([stale])])
    assert facts["missing"] == ["0.weight", "1.weight"]
    assert [entry["name_hint"] for entry in facts["foreign"]] == [""]


def test_names_moments_of_another_shape():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    assert optimizer_facts(model, [optimizer])[0]["misfits"] == []
    model.weight.data = torch.ones(3, 2)
    assert optimizer_facts(model, [optimizer])[0]["misfits"] == ["weight"]
