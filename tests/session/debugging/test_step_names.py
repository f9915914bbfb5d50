"""What a loop's body binds and changes is put back."""

from collections import Counter, deque

from ftlab.session.debugging.step_names import LARGE, KeptNames, stored

total = 0
big = list(range(LARGE + 1))
held = {"a": [1], "c": Counter(x=1), "q": deque([1], maxlen=2), "s": {1}}


def body():
    global total, fresh
    total += 1
    fresh = total
    big.append(1)
    held["a"].append(2)
    held["c"]["x"] += 1
    held["q"].append(5)
    held["s"].add(2)
    held["new"] = 1


def test_globals_and_contents_are_put_back():
    inner = held["a"]
    kept = KeptNames(body, ["big", "held"])
    body()
    kept.restore()
    assert total == 0
    assert "fresh" not in globals()
    assert len(big) == LARGE + 1
    assert held == {"a": [1], "c": Counter(x=1), "q": deque([1]), "s": {1}}
    assert held["a"] is inner
    assert list(held) == ["a", "c", "q", "s"]


def test_variables_of_the_function_around_are_put_back():
    if len(big) == 0:
        late = None
    count = 1

    def step():
        nonlocal count, late
        count += 1
        late = count

    kept = KeptNames(step, [])
    assert stored(step.__code__) == {"count", "late"}
    step()
    kept.restore()
    assert count == 1
    step()
    assert late == 2


def test_attributes_of_plain_objects_are_put_back():
    class Meter:
        def __init__(self):
            self.sum, self.all = 0, []

    meter = Meter()

    def step():
        meter.sum += 1
        meter.all.append(1)
        meter.extra = 1

    kept = KeptNames(step, ["meter"])
    step()
    kept.restore()
    assert vars(meter) == {"sum": 0, "all": []}
