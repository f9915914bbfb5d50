"""Arrow arrays from buffers and back are those of pyarrow's own conversions."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from ftlab.runlog.arrow import (
    array_of,
    float_arrays,
    lists_of,
    plain_array,
    valid_of,
    values_of,
)

KNOWN = np.array([True, False, True, True, False, True, True, True, False, True])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("known", [None, KNOWN, ~KNOWN, KNOWN | True])
def test_numbers_are_pyarrows(dtype, known):
    values = np.arange(10).astype(dtype)
    expected = pa.array(values, mask=None if known is None else ~known)
    made = array_of(values, known)
    made.validate(full=True)
    assert made.equals(expected)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.float64(), [1.0, None, float("nan"), -2.5]),
        (pa.int32(), [3, 4]),
        (pa.int64(), [None, None]),
        (pa.bool_(), [True, None, False]),
        (pa.string(), ["a", None, "", "größer 🙂"]),
        (pa.list_(pa.float64()), [(0.1, 0.2), None, [], (3.0,)]),
        (pa.list_(pa.float64()), []),
        (pa.string(), []),
    ],
)
def test_plain_values_are_pyarrows(kind, values):
    made = plain_array(values, kind)
    made.validate(full=True)
    assert made.type == kind
    assert str(made.to_pylist()) == str(pa.array(values, kind).to_pylist())


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [[]],
        [[1.0]],
        [[None, 2.0, float("nan")], [3, True, np.float32(0.5)], [None, None, None]],
    ],
)
def test_columns_of_floats_are_pyarrows(columns):
    made = float_arrays(columns)
    expected = [pa.array(each, pa.float64()) for each in columns]
    assert str([each.to_pylist() for each in made]) == str(
        [each.to_pylist() for each in expected]
    )
    assert all(each.validate(full=True) is None for each in made)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("mask", [None, KNOWN, KNOWN & False])
@pytest.mark.parametrize(("start", "size"), [(0, 10), (3, 5), (9, 1), (4, 0)])
def test_columns_are_read_as_pyarrow_reads_them(dtype, mask, start, size):
    one = pa.array(np.arange(10).astype(dtype), mask=mask)
    column = pa.chunked_array([one.slice(2, 7), one, one.slice(0, 0)])
    for each in (column, column.slice(start, size), pa.chunked_array([one])):
        expected = each.to_numpy()
        if dtype == "bool" and each.null_count:
            expected = np.array([np.nan if v is None else v for v in expected], float)
        np.testing.assert_array_equal(values_of(each), expected)
        np.testing.assert_array_equal(valid_of(each), each.is_valid().to_numpy())


def test_texts_are_left_to_pyarrow():
    assert values_of(pa.chunked_array([["a", "b"]])).tolist() == ["a", "b"]


WATCHED = """
import sys
import torch, ftlab
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())
with ftlab.watch(model, optimizer, run_dir="runs") as watch:
    for _ in range(20):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
run = ftlab.open_run(watch.run_dir).run
assert len(run.steps["loss"]) == 20
assert run.matrix("grad_l2").values.shape[0] == 20
print("pandas" in sys.modules)
"""


def test_neither_a_watch_nor_reading_its_run_loads_pandas(tmp_path):
    command = [sys.executable, "-c", WATCHED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["False"], done.stderr


def test_lists_are_pyarrows_also_of_slices():
    starts = pa.array([0, 2, 4, 4, 5, 8, 9], pa.int32())
    numbers = pa.array([0.1, 0.2, 9, 9, 3, 4, 5, 6, 9])  # 9 is below a null
    unknown = pa.array([False, True, False, False, False, True])
    made = pa.ListArray.from_arrays(starts, numbers, mask=unknown)
    column = pa.chunked_array([made[:1], made[1:1], made[1:4], made[4:]])
    sizes, numbers = lists_of(column)
    assert sizes.tolist() == [2, 0, 0, 1, 3, 0]
    assert numbers.tolist() == [0.1, 0.2, 3.0, 4.0, 5.0, 6.0]
    assert [part.tolist() for part in lists_of(column[:0])] == [[], []]
