"""Code under a debugger ends as it would have ended without one, bit for bit."""

import ast
from collections import deque

import numpy as np
import pytest
import torch

from ftlab.records.errors import NotReplayableError
from ftlab.replay.worker import Worker
from ftlab.session.debugging.debug_code import DebuggedCode
from ftlab.session.host import host

SETUP = """
import random, torch
from collections import Counter, deque
import numpy as np
torch.manual_seed(0); random.seed(0); np.random.seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8),
                          torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (n + 1))
data = [torch.rand(3, 4) for _ in range(6)]
shift = [1.0] * 6
class Meter:
    def __init__(self): self.sum, self.all = 0.0, []
    def update(self, value): self.sum += value; self.all.append(value)
"""
BODIES = {
    "accumulation": """
total, count, losses, history = 0.0, 0, [], {"i": []}
for epoch in range(2):
    for i, batch in enumerate(data):
        if i == 5:
            continue
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = net(batch).float().mul(0.01).add(shift[i]).log().mean()
        loss.backward()
        total += loss.item()
        losses.append(loss.item()); history["i"].append(i); count += 1
        if (i + 1) % 2 == 0:
            optimizer.step(); scheduler.step(); optimizer.zero_grad()
        if epoch == 1 and i == 4:
            break
    else:
        whole = epoch
""",
    "while": """
n, running, best = 0, torch.zeros(()), None
meter, seen, kinds, last = Meter(), set(), Counter(), deque(maxlen=2)
while n < 6:
    batch = data[n]
    noise = random.random() + np.random.rand()
    optimizer.zero_grad()
    loss = (net(batch) * noise).mul(0.01).add(shift[n]).log().mean()
    loss.backward()
    running += loss.detach()
    meter.update(loss.item()); seen.add(n); kinds[n % 2] += 1; last.append(n)
    best = n if best is None else max(best, n)
    n += 1
    optimizer.step()
""",
    "function": """
losses = []
def train(rounds):
    total = 0.0
    for r in range(rounds):
        for batch, s in zip(data, shift):
            optimizer.zero_grad()
            loss = net(batch).mul(0.01).add(s).log().mean()
            loss.backward()
            total += loss.item(); losses.append(total)
            if len(losses) > 8:
                return total, r
            optimizer.step()
result = train(3)
""",
    "step function": """
count, losses = 0, []
def one(batch, s):
    global count
    loss = net(batch).mul(0.01).add(s).log().mean()
    loss.backward()
    count += 1; losses.append(loss.item())
    return loss
for batch, s in zip(data, shift):
    one(batch, s)
    optimizer.step(); optimizer.zero_grad()
""",
}
BROKEN = "shift[3] = -1.0\n"
"""The logarithm of the fourth batch is NaN; what it makes of the rest is the same."""


def debugged(source, namespace=None, policy=None):
    names = {} if namespace is None else namespace
    code = DebuggedCode(Worker(host), policy)
    made = compile(code.rewrite(ast.parse(source), names), "cell", "exec")
    code.prepare(lambda: exec(made, names), names)
    return code, names


def plain(source):
    names = {}
    exec(compile(source, "cell", "exec"), names)
    return values(names)


def values(names):
    """Return what can be compared of a namespace, and the generators' states."""
    state = np.random.get_state()
    held = {
        name: comparable(value)
        for name, value in names.items()
        if name not in ("__builtins__", "__ftlab__")
    }
    return held | {"rng": (torch.get_rng_state().tolist(), state[1].tolist(), state[2])}


def comparable(value):
    if isinstance(value, torch.Tensor):
        return value.shape, value.detach().numpy().tobytes()
    if isinstance(value, torch.nn.Module | torch.optim.Optimizer):
        return comparable(value.state_dict())
    if isinstance(value, torch.optim.lr_scheduler.LRScheduler):
        return repr(sorted(value.state_dict().items(), key=str)[:3])
    if isinstance(value, list | tuple | deque):
        return type(value).__name__, [comparable(each) for each in value]
    if isinstance(value, dict):
        return type(value).__name__, {k: comparable(v) for k, v in value.items()}
    if type(value).__name__ == "Meter":
        return comparable(vars(value))
    simple = isinstance(value, int | float | str | set | type(None))
    return repr(value) if simple else type(value).__name__


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_without_a_pause_all_variables_are_the_same(body):
    source = SETUP + body
    expected = plain(source)
    code, names = debugged(source)
    assert code.debugger.run().state == "finished"
    assert code.seen
    assert values(names) == expected


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_with_pauses_and_steps_back_all_variables_are_the_same(body):
    source = SETUP + BROKEN + body
    expected = plain(source)
    code, names = debugged(source)
    dbg = code.debugger
    report = dbg.run()
    assert (report.what, report.op) == ("nan", "aten.log.default")
    while dbg.state == "paused":
        if dbg.where.site is not None:
            dbg.back(count=3)
            dbg.step("module")
        dbg.resume()
    assert dbg.state == "finished"
    assert values(names) == expected


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_abort_leaves_the_variables_as_before_the_step(body):
    code, names = debugged(SETUP + BROKEN + body)
    code.debugger.run()
    code.debugger.abort()
    for name in ("losses", "seen"):
        assert len(names.get(name, "abc")) == 3
    assert names.get("n", 3) == names.get("count", 3) == 3
    assert all(p.isfinite().all() for p in names["net"].parameters())


def test_a_report_names_the_line_and_the_batch():
    code, names = debugged(SETUP + BROKEN + BODIES["accumulation"])
    with code.debugger as dbg:
        report = dbg.run()
        line = (SETUP + BROKEN).count("\n") + 8
        assert report.user_line == f"cell:{line} <module>"
        index, batch = dbg.batch
        assert index == 3
        assert batch.equal(names["data"][3])


def test_a_mended_cause_is_not_taken_back():
    code, names = debugged(SETUP + BROKEN + BODIES["accumulation"])
    with code.debugger as dbg:
        dbg.run()
        names["shift"][3] = 1.0
        dbg.back()
        assert dbg.resume().state == "finished"
    assert not any(value != value for value in names["losses"])


def test_an_iterator_that_the_body_reads_is_named():
    source = (
        "feed = iter(zip(data, shift))\nfor n in range(6):\n    batch, s = next(feed)\n"
        "    net(batch).mul(0.01).add(s).log().mean().backward()\n"
    )
    code, _ = debugged(SETUP + BROKEN + source)
    with code.debugger as dbg:
        report = dbg.run()
        assert not report.replayable
        assert "feed is a zip, which the step uses up" in repr(report)


def test_a_loop_defined_elsewhere_is_refused_by_name():
    names = {}
    exec(compile(SETUP + BODIES["function"], __file__, "exec"), names)

    def fit(data):
        for batch in data:
            batch.backward()

    with pytest.raises(
        NotReplayableError, match=r"Line 1: fit\(\) contains the training"
    ):
        debugged("fit(data)", {"fit": fit})


def test_nothing_is_left_and_a_function_that_stays_can_be_called():
    code, names = debugged(SETUP + BODIES["accumulation"])
    code.debugger.run()
    assert not [name for name in names if name.startswith("__ftlab")]
    code, names = debugged(SETUP + BODIES["function"])
    code.debugger.run()
    names["losses"].clear()
    names["train"](1)
    assert len(names["losses"]) == 6


def test_abort_takes_back_what_the_body_had_bound_already():
    code, names = debugged(SETUP + BROKEN + BODIES["while"])
    code.debugger.run()
    assert names["batch"] is names["data"][3]
    code.debugger.abort()
    assert names["batch"] is names["data"][2]
