"""Half-precision weights that stay where they were."""

import pytest
import torch

from ftlab.probes.precision.lasting import REACH, Lasting
from tests.probes.moments_of import Bench, finished, rows_of


def layer(dtype=torch.bfloat16):
    model = torch.nn.Linear(8, 4, bias=False).to(dtype)
    model.weight.grad = torch.ones_like(model.weight)
    return model


def measured(probe, bench, step):
    return rows_of(finished(probe.on_gradients(bench.moment(step)))).get(0, {})


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_counts_what_kept_its_value_since_the_first_measurement(dtype):
    model, probe = layer(dtype), Lasting()
    bench = Bench(model)
    assert measured(probe, bench, 0) == {}
    model.weight.data[0, :4] += 1
    assert measured(probe, bench, 1) == {"still_share": 28 / 32, "still_steps": 1.0}
    model.weight.data[1] += 1
    assert measured(probe, bench, 16) == {"still_share": 20 / 32, "still_steps": 16.0}


def test_weights_without_a_gradient_do_not_count():
    model, probe = layer(), Lasting()
    bench = Bench(model)
    measured(probe, bench, 0)
    model.weight.data[0] += 1
    model.weight.grad[2:] = 0
    assert measured(probe, bench, 1)["still_share"] == 0.5


def test_float32_is_not_sampled():
    model, probe = layer(torch.float32), Lasting()
    bench = Bench(model)
    measured(probe, bench, 0)
    assert measured(probe, bench, 1) == {}


def test_begins_anew_after_some_time():
    model, probe = layer(), Lasting()
    bench = Bench(model)
    measured(probe, bench, 0)
    model.weight.data += 1
    assert measured(probe, bench, REACH)["still_share"] == 0
    again = measured(probe, bench, REACH + 16)
    assert again == {"still_share": 1.0, "still_steps": 16.0}


def test_begins_anew_when_other_tensors_are_trained():
    model, probe = torch.nn.ModuleList([layer(), layer()]), Lasting()
    bench = Bench(model)
    measured(probe, bench, 0)
    model[1].weight.grad = None
    assert measured(probe, bench, 1) == {}
    assert measured(probe, bench, 2)["still_steps"] == 1.0
