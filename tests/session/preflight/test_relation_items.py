"""Relations that must hold, as items of a checklist."""

import torch

import ftlab
from ftlab.records.checklist import CheckItem
from ftlab.session.preflight.given import Given
from ftlab.session.preflight.relation_items import with_relations
from tests.experiments.set_ups import llama, lora, padded, trainable


def relations(model, batch, **given):
    optimizer = torch.optim.AdamW(trainable(model), lr=1e-3)
    checklist = ftlab.preflight(
        model, optimizer=optimizer, batch=batch, prove=True, **given
    )
    plain = ftlab.preflight(model, optimizer=optimizer, batch=batch, **given)
    return [each for each in checklist if each.name not in {i.name for i in plain}]


def test_what_holds_is_passed_and_weights_stay():
    model = lora(llama())
    before = {name: each.clone() for name, each in model.state_dict().items()}
    items = relations(model, padded())
    assert len(items) == 2
    assert {each.status for each in items} == {"passed"}
    assert all(torch.equal(t, before[n]) for n, t in model.state_dict().items())


def test_a_broken_relation_is_an_item_that_failed():
    model = lora(llama())
    head = model.get_output_embeddings()
    head.register_forward_hook(lambda _m, _a, out: out + 0.3 * out.mean(1, True))
    failed = [each for each in relations(model, padded()) if each.status == "failed"]
    assert [each.code for each in failed] == ["EXP006"]
    assert failed[0].fix


def test_what_a_rule_says_follows_from_a_broken_relation():
    model = lora(llama())
    head = model.get_output_embeddings()
    head.register_forward_hook(lambda _m, _a, out: out + 0.3 * out.mean(1, True))
    given = Given(model, (torch.optim.SGD(trainable(model), 0.1),), batches=[padded()])
    rules = [
        CheckItem("data", name, status, "seen", code=code, cause="its own")
        for name, status, code in (
            ("a label", "failed", "NUM020"),
            ("another", "failed", "DAT007"),
            ("a third", "passed", "DAT007"),
        )
    ]
    items = {each.name: each for each in with_relations(rules, given)}
    assert items["another"].cause.startswith("It follows from EXP006: ")
    assert items["another"].fix == "Put EXP006 right first."
    assert items["a label"].cause == items["a third"].cause == "its own"


def test_a_batch_that_the_model_is_not_called_with():
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    checklist = ftlab.preflight(
        model,
        optimizer=optimizer,
        batch=torch.ones(2, 4),
        step=lambda batch: model(batch).mean(),
        prove=True,
    )
    item = next(each for each in checklist if each.name == "what must hold")
    assert item.status == "not checked"
