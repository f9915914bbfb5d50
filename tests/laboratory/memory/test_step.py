"""What a step takes, predicted from shapes, against what is measured."""

import itertools

import pytest
import torch

from ftlab.laboratory.memory.optimizers import optimizer_maker
from ftlab.laboratory.memory.step import StepPlan, executed, rehearsed, sized
from tests.laboratory.memory.models import FAMILIES, WAYS, base, prepared, rows

WITHIN = 0.1


@pytest.fixture(scope="module", autouse=True)
def _first_calls():
    """Import what a first step imports: the C library counts it as well."""
    executed(base("llama"), rows(), StepPlan(optimizer_maker("adamw"), False))


def assert_alike(predicted, measured):
    """Compare peaks by phase and what each category holds at the peak."""
    assert predicted.peak == pytest.approx(measured.peak, rel=WITHIN)
    assert predicted.peaks() == pytest.approx(measured.peaks(), rel=WITHIN)
    small = 0.01 * measured.peak
    there = measured.at_peak()
    assert predicted.at_peak() == pytest.approx(there, rel=WITHIN, abs=small)


def _cases():
    """All ways with one family, and one way with the others; the rest is slow."""
    for family, way, again in itertools.product(FAMILIES, WAYS, [False, True]):
        usual = family == "llama" or (way == "lora" and not again)
        marks = () if usual else pytest.mark.slow
        yield pytest.param(family, way, again, marks=marks)


@pytest.mark.parametrize(("family", "way", "checkpointing"), _cases())
def test_predicts_within_ten_percent(family, way, checkpointing, tmp_path):
    model = prepared(family, way, tmp_path)
    plan = StepPlan(optimizer_maker("adamw"), checkpointing)
    predicted = rehearsed(model, sized(8, 96), plan)
    measured = executed(model, rows(), plan)
    assert_alike(predicted, measured)
    assert predicted.operations == measured.operations
    # the C library counts by itself, and Python's objects and first calls too
    heap = pytest.approx(max(measured.heap), rel=WITHIN, abs=8 * 2**20)
    assert measured.peak == heap
    if not checkpointing:
        assert measured.at_peak()["activations"] > 0.3 * measured.peak


def test_executing_leaves_everything_as_it_was():
    model = base("llama")
    model.config.use_cache = False
    model(**rows(2, 8)).loss.backward()
    before = {
        name: (p.data_ptr(), p.detach().clone(), p.grad.clone(), p._version)
        for name, p in model.named_parameters()
    }
    state, training = torch.get_rng_state(), model.training
    executed(model, rows(), StepPlan(optimizer_maker("adamw"), True))
    for name, p in model.named_parameters():
        place, value, grad, version = before[name]
        assert p.data_ptr() == place
        assert p._version == version
        assert torch.equal(p, value)
        assert torch.equal(p.grad, grad)
    assert torch.equal(torch.get_rng_state(), state)
    assert model.training == training
    assert not model.is_gradient_checkpointing


class Drawing(torch.nn.Module):
    """Draws whole numbers, which have values in a rehearsal too."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x):
        return {"loss": self.inner(x)[torch.randperm(4)].sum()}


def test_rehearsing_leaves_the_random_generators():
    model = Drawing()
    state = torch.get_rng_state()
    rehearsed(model, {"x": torch.ones(4, 4)}, StepPlan(None))
    assert torch.equal(torch.get_rng_state(), state)


def test_a_model_on_the_meta_device_is_predicted_as_a_real_one():
    plan = StepPlan(optimizer_maker("adamw"))
    real = rehearsed(base("llama"), sized(8, 96), plan)
    with torch.device("meta"):
        model = base("llama")
    assert rehearsed(model, sized(8, 96), plan).peak == real.peak


def test_a_batch_with_padding_is_predicted_with_its_mask():
    model, batch = base("llama"), rows()
    batch["attention_mask"][:, :40] = 0
    plan = StepPlan(optimizer_maker("adamw"))
    assert_alike(rehearsed(model, batch, plan), executed(model, batch, plan))


def test_gradients_of_an_earlier_micro_batch_are_there():
    model = base("llama")
    plan = StepPlan(None, accumulating=True)
    predicted, measured = (
        rehearsed(model, sized(8, 96), plan),
        executed(model, rows(), plan),
    )
    assert_alike(predicted, measured)
    weights = measured.at_peak()["weights"]
    assert measured.at_peak()["gradients"] == pytest.approx(weights, rel=0.05)


def test_autocast_is_predicted():
    model = base("qwen3")
    plan = StepPlan(optimizer_maker("adamw"), autocast=torch.bfloat16)
    predicted = rehearsed(model, sized(8, 96), plan)
    assert_alike(predicted, executed(model, rows(), plan))
    made = {e.what for e in predicted.lives if e.category == "activations"}
    assert "bfloat16 (768, 352)" in made


def test_eight_bits_of_state_are_a_quarter():
    model = base("llama")
    names = ("adamw", "adamw_8bit")
    plans = [StepPlan(optimizer_maker(name)) for name in names]
    whole, few = (
        rehearsed(model, sized(2, 16), p).at_peak()["optimizer state"] for p in plans
    )
    assert 0.25 < few / whole < 0.3
