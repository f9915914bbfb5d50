"""What is done to adapters is told once, whichever of PEFT's methods was called."""

import copy
import pickle
import subprocess
import sys

import pytest
import torch
from peft import IA3Config, LoraConfig, get_peft_model

from ftlab.faults.builders.tiny import adamw, base, batches, lora
from tests.probes.recording import Recording


def ops(recording, step=0):
    return [
        (entry.op, entry.detail.get("call"), entry.detail.get("adapters"))
        for entry in recording.ledger(step)
        if entry.target == "adapters"
    ]


def heard(model, act):
    """Do something between an update and the end of watching; return the ledger."""
    optimizer = adamw(model)
    with Recording(model, optimizer) as recording:
        model(**batches()[0]).loss.backward()
        optimizer.step()
        act(model)
    return ops(recording)


def merge_and_back(model):
    model.merge_adapter()
    model.unmerge_adapter()


def off_for_a_while(model):
    with model.disable_adapter():
        pass


def one_more(model):
    model.add_adapter("b", LoraConfig(r=2, target_modules=["q_proj"]))
    model.set_adapter("b")
    model.delete_adapter("b")


def combined(model):
    model.add_adapter("b", model.peft_config["default"])
    model.add_weighted_adapter(["default", "b"], [0.5, 0.5], "mix")


def by_layers(model):
    for module in model.modules():
        if hasattr(module, "lora_A"):
            module.merge()


CALLS = {
    merge_and_back: [
        ("merge", "merge_adapter", None),
        ("unmerge", "unmerge_adapter", None),
    ],
    off_for_a_while: [
        ("disable_adapters", "disable_adapter_layers", None),
        ("enable_adapters", "enable_adapter_layers", None),
    ],
    one_more: [
        ("add_adapter", "add_adapter", "b"),
        ("set_adapter", "set_adapter", "b"),
        ("delete_adapter", "delete_adapter", "b"),
    ],
    combined: [
        ("add_adapter", "add_adapter", "b"),
        ("add_adapter", "add_weighted_adapter", "mix"),
    ],
    by_layers: [("merge", "merge", None)],
    lambda model: model.merge_and_unload(): [("unload", "merge_and_unload", None)],
    lambda model: model.unload(): [("unload", "unload", None)],
}


@pytest.mark.parametrize(("act", "expected"), CALLS.items())
def test_a_call_is_one_entry(act, expected):
    assert heard(lora(), act) == expected


def test_other_methods_are_heard_too():
    model = get_peft_model(base(), IA3Config(target_modules=["k_proj"]))
    assert heard(model, merge_and_back) == CALLS[merge_and_back]


def test_transformers_own_methods_are_heard():
    model = base()
    model.add_adapter(LoraConfig(r=2, target_modules=["q_proj"]), adapter_name="own")

    def act(model):
        model.disable_adapters()
        model.enable_adapters()

    assert heard(model, act) == [
        ("disable_adapters", "disable_adapters", None),
        ("enable_adapters", "enable_adapters", None),
    ]


def test_another_model_s_adapters_are_passed_over():
    other = lora(seed=3)
    assert heard(lora(), lambda _: merge_and_back(other)) == []


def test_a_call_that_raises_is_not_told():
    def act(model):
        with pytest.raises(ValueError, match="not found"):
            model.set_adapter("nobody")

    assert heard(lora(), act) == []


def test_nothing_is_left_on_classes_and_copies_are_clean():
    from peft.tuners.lora.layer import Linear
    from peft.tuners.tuners_utils import BaseTuner

    before = {owner: dict(vars(owner)) for owner in (Linear, BaseTuner, type(lora()))}
    model = lora()
    with Recording(model, adamw(model)):
        assert Linear.merge is not before[Linear]["merge"]
        twin = copy.deepcopy(model)
        assert b"ftlab" not in pickle.dumps(model.base_model.model.state_dict())
    for owner, attributes in before.items():
        assert all(vars(owner)[name] is value for name, value in attributes.items())
    merge_and_back(twin)


def test_merging_while_watched_gives_the_same_bits():
    plain, watched = lora(), lora()
    with Recording(watched, adamw(watched)):
        for model in (plain, watched):
            merge_and_back(model)
    for one, other in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(one, other)


SCRIPT = """
import sys, torch
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.step import LedgerEntry
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
records = []
subject = Subject(model)
recorder = Recorder(subject, [], records.append).attach()
assert "peft" not in sys.modules
from peft import LoraConfig, inject_adapter_in_model
inject_adapter_in_model(LoraConfig(r=2, target_modules=["0"]), model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    model[0].merge()
    model[0].unmerge()
recorder.detach()
print([r.op for r in records if isinstance(r, LedgerEntry) and r.target == "adapters"])
"""


@pytest.mark.slow
def test_peft_may_be_imported_later():
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "['merge', 'unmerge', 'merge', 'unmerge']"


def test_a_loaded_adapter_goes_by_its_name_and_not_by_its_folder(tmp_path):
    model = lora()
    model.save_pretrained(tmp_path)
    entries = heard(model, lambda model: model.load_adapter(str(tmp_path), "second"))
    assert entries == [("load_adapter", "load_adapter", "second")]
