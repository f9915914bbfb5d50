"""Layer numerics: dry steps that are finite, and gradients that arrive."""

import torch

from ftlab.session.preflight.preflight import preflight
from tests.session.preflight.objects import item_of, lora_loop

FINITE = "dry steps are finite"
REACH = "gradients reach what is trainable"


def step_of(given, loss_of):
    def step(batch):
        given["optimizer"].zero_grad()
        loss = loss_of(given["model"], batch)
        loss.backward()
        given["optimizer"].step()
        return loss

    return step


def test_two_healthy_steps_pass_with_their_numbers():
    given = lora_loop()
    item = item_of(FINITE, **given)
    assert item.status == "passed"
    assert item.says.startswith("loss 4.8")
    assert item_of(REACH, **given).says == "all 12 trainable tensors got one"


def test_one_step_is_enough_where_it_is_asked_for():
    item = item_of(FINITE, **lora_loop(), dry_steps=1)
    assert "," not in item.says


def test_no_step_is_made_where_none_is_asked_for():
    item = item_of(FINITE, **lora_loop(), dry_steps=0)
    assert (item.status, item.says) == (
        "not checked",
        "dry_steps=0: no step was tried",
    )


def test_a_loss_that_is_not_finite_is_told_by_the_rule():
    given = lora_loop()
    step = step_of(given, lambda model, batch: model(**batch).loss * torch.nan)
    codes = {item.code for item in preflight(**given, step=step).failed}
    assert "NUM001" in codes


def test_a_loss_without_a_graph_is_told_with_its_error():
    given = lora_loop()

    def loss_of(model, batch):
        with torch.no_grad():
            return model(**batch).loss

    item = item_of("backward and update work", **given, step=step_of(given, loss_of))
    assert item.says.startswith("backward raised RuntimeError: element 0 of tensors")


def test_no_gradient_anywhere_is_told_with_its_reason():
    given = lora_loop()
    model, optimizer = given["model"], given["optimizer"]

    def step(batch):
        loss = model(**batch).loss
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        return loss

    checklist = preflight(**given, step=step)
    bad = [i for i in checklist["numerics"] if i.status == "failed"]
    assert bad
    assert "zero_grad" in bad[0].cause + bad[0].fix


def test_a_tensor_out_of_use_is_not_called_a_fault_after_two_steps():
    given = lora_loop()
    spare = torch.nn.Parameter(torch.ones(3))
    given["model"].register_parameter("spare", spare)
    given["optimizer"].add_param_group({"params": [spare]})
    checklist = preflight(**given)
    (item,) = [i for i in checklist if i.name == REACH]
    assert item.status == "not checked"
    assert "1 of 13 trainable tensors got none in 2 dry steps: spare" in item.says


def test_a_backward_that_fails_points_to_the_finding_that_is_its_cause():
    given = lora_loop()
    for parameter in given["model"].parameters():
        parameter.requires_grad_(False)
    step = step_of(given, lambda model, batch: model(**batch).loss)
    item = item_of("backward and update work", **given, step=step)
    assert item.code == "ADP010"
    assert item.fix.startswith("Fix ADP010 first: ")


def test_rules_on_gradients_are_not_asked_for_where_nothing_is_trainable():
    given = lora_loop()
    for parameter in given["model"].parameters():
        parameter.requires_grad_(False)
    checklist = preflight(**given)
    fixes = {i.fix for i in checklist["numerics"] if i.status == "not checked"}
    assert fixes == {"if it should be trained, make something trainable first"}
