import numpy as np
import torch

from ftlab.probes.user.points import parse
from ftlab.probes.user.user_probe import UserProbe
from ftlab.probes.user.user_values import Place, Seen, readings_of
from tests.models import tiny_llama
from tests.probes.moments_of import Bench, finished, rows_of

PROBE = UserProbe(parse("mlp.post"), len, "size")


def measured(*values, key=""):
    bench = Bench(tiny_llama())
    seen = [Seen(PROBE, Place("mlp.post", "module"), key, value) for value in values]
    rows = rows_of(finished(readings_of(bench.moment(), seen)))
    names = {row: name for (_, name), row in bench.names.items()}
    return {names[row]: columns for row, columns in rows.items()}


def test_calls_of_one_place_are_one_row():
    expected = {"value": 3.0, "low": 1.0, "high": 6.0, "calls": 3.0}
    assert measured(1.0, 2.0, 6.0) == {"mlp.post size": expected}
    assert measured(*map(torch.tensor, (1.0, 2.0, 6.0))) == {"mlp.post size": expected}


def test_numbers_of_the_host_and_tensors_may_be_mixed():
    assert measured(1.0, torch.tensor(3.0))["mlp.post size"]["value"] == 2.0


def test_a_key_stands_behind_the_name():
    assert list(measured(1.0, key="low")) == ["mlp.post size.low"]


def test_nan_and_infinity_stay_visible():
    row = measured(1.0, float("nan"))["mlp.post size"]
    assert all(np.isnan(row[name]) for name in ("value", "low", "high"))
    assert measured(float("inf"), 1.0)["mlp.post size"]["high"] == np.inf
    assert measured(1e300)["mlp.post size"]["value"] == np.inf


def test_nothing_seen_is_nothing_read():
    assert measured() == {}
