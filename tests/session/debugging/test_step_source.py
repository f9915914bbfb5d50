"""Loops become steps: which ones, and what is refused."""

import ast

import pytest

from ftlab.records.errors import NotReplayableError
from ftlab.session.debugging.step_source import rewrite


class Turns:
    """Runs each step at once, a given number of times."""

    def __init__(self, times=1):
        self.times = times
        self.seen = []

    def step(self, body, objects, batch):
        self.seen.append((objects, batch))
        for _ in range(self.times):
            end = body()
        return end


class Tensor:
    def __init__(self, value=0):
        self.value = value

    def backward(self):
        pass


def outcome(source, **names):
    """Run ``source`` plainly and rewritten; return both namespaces."""
    plain, changed = {"T": Tensor, **names}, {"T": Tensor, **names}
    exec(source, plain)
    made = rewrite(ast.parse(source))
    changed["__ftlab__"] = turns = Turns()
    exec(compile(made.tree, "cell", "exec"), changed)
    return plain, changed, turns, made


LOOPS = """
for i in range(5):
    if i == 1: continue
    if i == 3: break
    T().backward(); n = i
else:
    n = 'else'
---
n = 0
while n < 4:
    n += 1
    T().backward()
else:
    m = n
---
seen = []
for e in range(2):
    for i, (a, *b) in enumerate([(1, 2, 3), (4, 5)]):
        T().backward(); seen.append((e, i, a, b))
    last = e
---
n = []
for i in range(3):
    for j in range(4):
        if j == 2: break
        n.append(j)
    T().backward()
---
def f(k):
    t = 0
    for i in range(9):
        T().backward(); t += i
        if i == k: return t
    return -1
n = f(3), f(20)
---
class C:
    def fit(self):
        self.n = 0
        for i in range(3):
            T().backward(); self.n += i
        return i, self.n
n = C().fit()
---
c = 0
def f():
    global c
    for i in range(3):
        T().backward(); c += i
        last = c
    return last
n = f()
---
for i in range(2):
    x: int = i
    y: str
    T().backward()
    z = [(w := k) for k in (x,)]
---
for i in range(3):
    try:
        T().backward(); raise ValueError(i)
    except ValueError as error:
        n = error.args
    finally:
        m = i
---
import contextlib
for i in range(3):
    with contextlib.nullcontext(i) as c:
        if i: T().backward()
        else: continue
    match [i, 1]:
        case [q, *r]: pass
"""


@pytest.mark.parametrize("source", LOOPS.split("---\n"))
def test_rewritten_code_does_what_it_did(source):
    plain, changed, turns, made = outcome(source)
    ours = {"__ftlab__", "__ftlab_step__", "__ftlab_end__", "__annotations__"}
    skipped = {"__builtins__", "f", "C", "contextlib", "__annotations__"}
    assert {*changed} - ours == {*plain} - {"__annotations__"}
    for name in {*plain} - skipped:
        assert changed[name] == plain[name], name
    assert made.steps == 1
    assert turns.seen


def test_the_innermost_loop_that_holds_backward_becomes_the_step():
    source = "for a in [1, 2]:\n  for b in [3, 4]:\n    T().backward()\n  after = a"
    _, _, turns, _ = outcome(source)
    assert [batch for _, batch in turns.seen] == [{"b": 3}, {"b": 4}] * 2


def test_lines_stay_those_of_the_code():
    source = "for a in [1]:\n\n  T().backward()\n  b = (1 /\n    0)"
    made = rewrite(ast.parse(source))
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile(made.tree, "cell", "exec"), {"T": Tensor, "__ftlab__": Turns()})
    assert caught.traceback[-1].lineno + 1 == 4


def test_objects_are_named_that_the_body_may_change_and_has_not_made():
    source = (
        "losses, h, cfg = [], {}, {'e': 1}\nfor a in [1]:\n  row = {}\n"
        "  T().backward()\n  row['a'] = cfg['e']\n"
        "  losses.append(row); h['x'] = cfg.get('e')"
    )
    _, _, turns, _ = outcome(source)
    assert set(turns.seen[0][0]) == {"losses", "h"}


def test_a_function_that_does_one_step_makes_its_callers_loop_the_step():
    source = "def one(x):\n  T().backward()\nfor a in [1, 2]:\n  one(a)"
    _, _, turns, made = outcome(source)
    assert (made.steps, len(turns.seen), made.functions) == (1, 2, ())


def test_a_function_from_elsewhere_is_asked_for():
    tree = ast.parse("for a in data:\n  one(a)")
    assert rewrite(tree).steps == 0
    assert rewrite(tree, lambda name: name == "one").steps == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("await f()", "Line 2: `await`"),
        ("yield x", "Line 2: `yield`"),
        ("print(locals())", "Line 2: `locals()`"),
        ("exec('x = 1')", "Line 2: `exec()`"),
        ("super().f()", "Line 2: `super()`"),
    ],
)
def test_what_cannot_be_called_again_is_refused_by_name(body, words):
    with pytest.raises(NotReplayableError) as caught:
        rewrite(ast.parse(f"for x in data:\n  {body}; x.backward()"))
    assert str(caught.value).startswith(words)
    assert "ftlab.debug(step, batches, model=model" in str(caught.value)


def test_async_loops_are_refused():
    with pytest.raises(NotReplayableError, match="Line 1: an `async for` loop"):
        rewrite(ast.parse("async for x in data:\n  x.backward()"))


def test_code_without_training_stays():
    source = "for a in b:\n    c = a"
    made = rewrite(ast.parse(source))
    assert (ast.unparse(made.tree), made.steps) == (source, 0)
