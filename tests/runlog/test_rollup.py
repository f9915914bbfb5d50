import numpy as np
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays

from ftlab.runlog.rollup import Window, combine, reduce_lines

IDS = np.arange(3, dtype=np.int32)
lines = arrays.arrays(
    np.float32,
    st.tuples(st.integers(1, 20), st.just(3)),
    elements=st.floats(width=32, min_value=-100, max_value=100)
    | st.sampled_from([float("nan"), float("-inf")]),
)


@given(st.lists(lines, min_size=1, max_size=4))
def test_joining_roll_ups_equals_rolling_up_everything(parts):
    windows = [
        Window(64 * number, 64, IDS, {"a": reduce_lines(part)})
        for number, part in enumerate(parts)
    ]
    joined = combine(windows, 0, 4096).columns["a"]
    whole = reduce_lines(np.concatenate(parts))
    for name in ("low", "high", "count", "nonfinite"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
    np.testing.assert_allclose(joined.mean, whole.mean, atol=1e-3)


def test_large_values_do_not_overflow_the_mean():
    rolled = reduce_lines(np.full((64, 1), 3e38, np.float32))
    assert rolled.mean[0] == np.float32(3e38)
    windows = [Window(64 * n, 64, IDS[:1], {"a": rolled}) for n in range(64)]
    assert combine(windows, 0, 4096).columns["a"].mean[0] == np.float32(3e38)
