"""Clipping under any name, covered parameters, and the factor that it applied."""

import sys
import types

import pytest
import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from tests.probes.recording import Recording, true_norms


def loop():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def clips(recording, step=0):
    return [entry.detail for entry in recording.ledger(step) if entry.op == "clip"]


def test_a_function_imported_by_name_is_seen():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        model(torch.ones(8, 4)).sum().backward()
        before = true_norms(model)
        total = clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    (clip,) = clips(recording)
    (step,) = recording.steps
    assert recording.column(0) == pytest.approx(before, rel=1e-5)
    assert recording.column(0, "grad_l2_after") == {}
    assert (clip["max_norm"], clip["norm_type"]) == (0.5, 2.0)
    assert (clip["count"], clip["of"]) == (4, 4)
    assert step.clip_norm == 0.5
    assert step.clip_coefficient == pytest.approx(0.5 / total.item(), rel=1e-5)
    assert "times" not in clip


def test_a_name_copied_while_attached_is_replaced_back():
    namespace = types.ModuleType("a_notebook")
    sys.modules["a_notebook"] = namespace
    original = clip_grad_norm_
    model, optimizer = loop()
    try:
        with Recording(model, optimizer):
            exec("from torch.nn.utils import clip_grad_norm_", vars(namespace))
            assert namespace.clip_grad_norm_ is not original
        assert namespace.clip_grad_norm_ is original
    finally:
        del sys.modules["a_notebook"]


@pytest.mark.filterwarnings("ignore:.*clip_grad_norm:FutureWarning")
def test_the_older_name_is_seen_once():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        model(torch.ones(8, 4)).sum().backward()
        torch.nn.utils.clip_grad_norm(model.parameters(), 0.5, norm_type=1.0)
        optimizer.step()
    (clip,) = clips(recording)
    assert clip["norm_type"] == 1.0
    assert recording.steps[0].values["clips"] == 1.0


def test_the_norm_given_separately_is_seen():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        model(torch.ones(8, 4)).sum().backward()
        norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), 0.5, norm)
        optimizer.step()
    assert recording.steps[0].clip_coefficient == pytest.approx(0.5 / norm.item())


def test_clipping_values_is_no_norm():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        model(torch.ones(8, 4)).sum().backward()
        before = true_norms(model)
        clip_grad_value_(model.parameters(), 0.01)
        optimizer.step()
    assert recording.column(0) == pytest.approx(before, rel=1e-5)
    assert recording.steps[0].clip_norm is None
    assert clips(recording)[0]["max_norm"] == 0.01


def test_clipping_one_parameter_after_the_other_is_one_entry():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        model(torch.ones(8, 4)).sum().backward()
        before = true_norms(model)
        for parameter in model.parameters():
            clip_grad_norm_(parameter, 0.1)
        optimizer.step()
    (clip,) = clips(recording)
    assert (clip["times"], clip["count"], clip["of"]) == (4, 1, 4)
    assert recording.steps[0].clip_coefficient is None
    assert recording.column(0) == pytest.approx(before, rel=1e-5)


def test_parameters_of_another_model_are_not_ours():
    model, optimizer = loop()
    other = torch.nn.Linear(4, 1)
    with Recording(model, optimizer) as recording:
        model(torch.ones(8, 4)).sum().backward()
        other(torch.ones(8, 4)).sum().backward()
        clip_grad_norm_(other.parameters(), 0.1)
        optimizer.step()
    assert clips(recording) == []
    assert recording.steps[0].clip_norm is None


@pytest.mark.filterwarnings("error:.*empty generator")
def test_torch_s_own_warning_and_error_come_through():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        with pytest.warns(UserWarning, match="empty generator") as caught:
            clip_grad_norm_((p for p in ()), 1.0)
        assert [each.filename for each in caught] == [__file__]
        clip_grad_norm_(iter(()), 1.0)
        with pytest.raises(TypeError) as raised:
            clip_grad_norm_(model.parameters())
        assert raised.value.__context__ is None
        model(torch.full((8, 4), torch.nan)).sum().backward()
        with pytest.raises(RuntimeError, match="non-finite"):
            clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        optimizer.step()
    assert recording.steps[0].grad_norm != recording.steps[0].grad_norm


def test_clipping_after_the_step_belongs_to_the_step():
    model, optimizer = loop()
    with Recording(model, optimizer) as recording:
        model(torch.ones(8, 4)).sum().backward()
        optimizer.step()
        clip_grad_norm_(model.parameters(), 0.1)
    assert recording.ops(0) == ["forward", "backward", "step", "clip"]
