"""What a step is, and what belongs to it."""

import pytest
import torch
import torch.utils.checkpoint

from tests.models import batches, tiny_lora
from tests.probes.recording import Recording, true_norms


def small(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))


def sgd(model, lr=0.1):
    return torch.optim.SGD(model.parameters(), lr=lr)


def test_a_step_is_read_against_norms_computed_one_by_one():
    model = tiny_lora()
    optimizer = sgd(model)
    expected, losses = [], []
    with Recording(model, optimizer) as recording:
        for batch in batches(3):
            optimizer.zero_grad()
            loss = model(**batch).loss
            loss.backward()
            expected.append(true_norms(model))
            losses.append(loss.item())
            optimizer.step()
    assert recording.losses == losses
    for step, norms in enumerate(expected):
        assert recording.column(step) == pytest.approx(norms, rel=1e-5)
        total = sum(norm**2 for norm in norms.values()) ** 0.5
        assert recording.steps[step].grad_norm == pytest.approx(total, rel=1e-5)


def test_the_order_of_operations_is_kept():
    model = small()
    optimizer = sgd(model)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    with Recording(model, optimizer) as recording:
        for _ in range(2):
            model(torch.ones(2, 4)).sum().backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    ops = ["forward", "backward", "clip", "step", "scheduler_step", "zero_grad"]
    assert recording.ops(0) == recording.ops(1) == ops
    moved = recording.ledger(1)[4]
    assert moved.target == "scheduler 0"
    rates = {"lr_before": [0.05], "lr_after": [0.025]}
    assert moved.detail == rates | {"epoch": 2}
    assert [step.lr for step in recording.steps] == [(0.1,), (0.05,)]


def test_micro_batches_are_counted_and_their_losses_added():
    model = small()
    optimizer = sgd(model)
    losses = []
    with Recording(model, optimizer) as recording:
        for _ in range(2):
            for _ in range(3):
                loss = model(torch.rand(2, 4)).mean() / 3
                loss.backward()
                losses.append(loss.item())
            expected = true_norms(model)
            optimizer.step()
            optimizer.zero_grad()
    assert [step.micro_batches for step in recording.steps] == [3, 3]
    assert recording.losses == pytest.approx([sum(losses[:3]), sum(losses[3:])])
    assert recording.column(1) == pytest.approx(expected, rel=1e-5)


def test_two_losses_of_one_forward_are_one_micro_batch():
    model = small()
    optimizer = sgd(model)
    with Recording(model, optimizer) as recording:
        output = model(torch.ones(2, 4))
        output.mean().backward(retain_graph=True)
        output.square().mean().backward()
        optimizer.step()
    assert recording.steps[0].micro_batches == 1
    expected = output.mean() + output.square().mean()
    assert recording.losses[0] == pytest.approx(expected.item())


def test_two_optimizers_of_one_iteration_are_one_step():
    model = small()
    first, second = sgd(model[0], 0.1), sgd(model[1], 0.2)
    with Recording(model) as recording:
        for _ in range(2):
            model(torch.ones(2, 4)).sum().backward()
            first.step()
            second.step()
    assert [step.lr for step in recording.steps] == [(0.1, 0.2), (0.1, 0.2)]
    steps = [entry.target for entry in recording.ledger(0) if entry.op == "step"]
    assert steps == ["optimizer 0", "optimizer 1"]
    groups = {each.name: each.meta["group"] for each in recording.names.values()}
    assert groups == {"0.weight": 0, "0.bias": 0, "1.weight": 1, "1.bias": 1}


def test_a_step_without_backward_is_a_step():
    model = small()
    optimizer = sgd(model)
    with Recording(model, optimizer) as recording:
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        optimizer.step()
    assert [step.micro_batches for step in recording.steps] == [1, 0]
    assert recording.losses[1] is None


def test_backwards_of_another_model_do_not_count():
    generator, critic = small(), small(1)
    ours, theirs = sgd(generator), sgd(critic)
    with Recording(generator, ours) as recording:
        for _ in range(2):
            made = generator(torch.ones(2, 4)).expand(2, 4)
            critic(made.detach()).sum().backward()
            theirs.step()
            theirs.zero_grad()
            loss = critic(made).sum()
            loss.backward()
            ours.step()
            ours.zero_grad()
    assert [step.micro_batches for step in recording.steps] == [1, 1]
    assert recording.losses[1] == loss.item()
    assert recording.ops(1) == ["forward", "backward", "step", "zero_grad"]
    assert recording.subject.optimizers == (ours,)


def test_a_loss_whose_gradients_do_not_arrive_is_still_the_step_s_loss():
    model = small()
    optimizer = sgd(model)
    lost = torch.ones(1, requires_grad=True)
    with Recording(model, optimizer) as recording:
        loss = model(torch.ones(2, 4)).detach().sum() * lost
        loss.backward()
        optimizer.step()
    (step,) = recording.steps
    assert step.loss == pytest.approx(loss.item())
    assert step.micro_batches == 1
    assert set(recording.column(0, "has_grad").values()) == {0.0}
    assert step.grad_norm is None


def test_an_evaluation_is_one_entry_however_long():
    model = small()
    optimizer = sgd(model)
    with Recording(model, optimizer) as recording:
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            for _ in range(1000):
                model(torch.ones(2, 4))
    entry = recording.ledger(0)[-1]
    assert entry.detail == {"mode": "eval", "grad_enabled": False, "times": 1000}


@pytest.mark.parametrize("given", [True, False])
def test_a_pass_that_measures_a_loss_in_training_mode_says_so(given):
    model = tiny_lora().train()
    optimizer = sgd(model)
    (batch,) = batches(1)
    with Recording(model, optimizer) as recording:
        model(**batch).loss.backward()
        optimizer.step()
        with torch.no_grad():
            model(**(batch if given else {"input_ids": batch["input_ids"]}))
    assert recording.ledger(0)[-1].detail.get("labels", False) is given


def test_attaching_within_an_accumulation_is_marked():
    model = small()
    optimizer = sgd(model)
    model(torch.ones(2, 4)).sum().backward()
    with Recording(model, optimizer) as recording:
        for _ in range(2):
            model(torch.ones(2, 4)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    first, second = recording.steps
    assert first.values["partial"] == 1.0
    assert "partial" not in second.values


def test_cleared_gradients_do_not_make_a_step_partial():
    model = small()
    optimizer = sgd(model)
    model(torch.ones(2, 4)).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    with Recording(model, optimizer) as recording:
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    assert "partial" not in recording.steps[0].values


def test_a_closure_s_gradients_are_read_after_the_step():
    model = small()
    optimizer = sgd(model)

    def closure():
        optimizer.zero_grad()
        loss = model(torch.ones(2, 4)).sum()
        loss.backward()
        return loss

    with Recording(model, optimizer) as recording:
        losses = [optimizer.step(closure).item() for _ in range(2)]
    assert recording.losses == losses
    assert recording.column(1) == pytest.approx(true_norms(model), rel=1e-5)


def test_gradients_changed_by_unknown_code_are_measured_twice():
    model = small()
    optimizer = sgd(model)
    unchanged = []
    with Recording(model, optimizer) as recording:
        for _ in range(3):
            model(torch.ones(2, 4)).sum().backward()
            unchanged.append(true_norms(model))
            for parameter in model.parameters():  # somebody's own clipping
                parameter.grad.mul_(0.5)
            changed = true_norms(model)
            optimizer.step()
            optimizer.zero_grad()
    assert recording.steps[0].values["changed_before_read"] == 1.0
    for step in (1, 2):  # from then on gradients are read where backward ends
        assert "changed_before_read" not in recording.steps[step].values
        assert recording.column(step) == pytest.approx(unchanged[step], rel=1e-5)
    assert recording.column(2, "grad_l2_after") == pytest.approx(changed, rel=1e-5)


def test_an_optimizer_that_steps_within_backward_is_recorded_as_far_as_possible():
    model = small()
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}

    def update(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()

    hooks = [p.register_post_accumulate_grad_hook(update) for p in optimizers]
    losses = []
    with Recording(model) as recording:
        for _ in range(3):
            loss = model(torch.ones(2, 4)).sum()
            loss.backward()
            losses.append(loss.item())
    for hook in hooks:
        hook.remove()
    assert recording.losses == pytest.approx(losses)
    assert all(s.values["updated_within_backward"] == 1.0 for s in recording.steps)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_s_second_forward_is_not_told(reentrant):
    model = small()
    optimizer = sgd(model)
    inputs = torch.ones(2, 4, requires_grad=True)
    with Recording(model, optimizer) as recording:
        output = torch.utils.checkpoint.checkpoint(
            model, inputs, use_reentrant=reentrant
        )
        output.sum().backward()
        optimizer.step()
    assert recording.ops(0) == ["forward", "backward", "step"]
    assert recording.steps[0].micro_batches == 1
    assert recording.column(0) == pytest.approx(true_norms(model), rel=1e-5)


@pytest.mark.parametrize("weight", [None, torch.tensor(0.25)])
def test_the_gradient_passed_to_backward_weighs_the_loss(weight):
    model = small()
    optimizer = sgd(model)
    with Recording(model, optimizer) as recording:
        loss = model(torch.ones(2, 4)).sum()
        torch.autograd.backward(loss, weight)
        optimizer.step()
    factor = 1.0 if weight is None else 0.25
    assert recording.losses == [pytest.approx(loss.item() * factor)]


def test_a_backward_on_no_scalar_has_no_loss():
    model = small()
    optimizer = sgd(model)
    with Recording(model, optimizer) as recording:
        output = model(torch.ones(2, 4))
        output.backward(torch.ones_like(output))
        optimizer.step()
    assert recording.losses == [None]
    assert recording.steps[0].micro_batches == 1


class Around(torch.optim.Optimizer):
    """Steps another optimizer from within its own step."""

    def __init__(self, base):
        self.base = base
        super().__init__(base.param_groups, {})

    def step(self, closure=None):
        self.base.step(closure)


def test_a_step_from_within_another_one_says_so():
    model = small()
    around = Around(sgd(model))
    with Recording(model, around) as recording:
        model(torch.ones(2, 4)).sum().backward()
        around.step()
    steps = [entry for entry in recording.ledger(0) if entry.op == "step"]
    assert [entry.detail.get("within") for entry in steps] == [None, True]
