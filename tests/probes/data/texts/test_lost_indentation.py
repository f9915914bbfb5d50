"""Python code that lost its indentation, and what only looks like it."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.lost_indentation import lost_indentation

STRIPPED = "def f(x):\nif x < 0:\nreturn -x\nreturn x"


def faults(answer, prompt="Write it in Python."):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [fault.char for _, fault in lost_indentation(row)]


@pytest.mark.parametrize(
    ("answer", "char"),
    [
        (STRIPPED, 10),
        (f"So:\n\n```python\n{STRIPPED}\n```\n\nThat is all.", 25),
        ("```python\nfor x in y:\nprint(x)\n```", 22),
        ("def f(\na,\nb,\n) -> int:\nreturn a", 23),
        ("class A:\n# a note\ndef f(self):\nreturn 1\n", 31),
        ("import re\n\ndef f(x):\ntry:\nreturn 1\nexcept E:  # so\nreturn 2", 21),
        ('def f(x): """So.""" y = x + 1 return y', 20),
        ("async def f(x) -> int: y = [x] for z in y: print(z) return y", 31),
        ("```python def f(x): y = x return y ```", 26),
        ("def f(x): # It is so. if x: y = 1 return y", 22),
        ("def f(x): y = x # It is so. z = y + 1 return z", 28),
        ('def f(x): """So.""" # It is so. return {x: [1]}', 32),
    ],
)
def test_code_that_no_python_reads_is_found(answer, char):
    assert faults(answer) == [char]


@pytest.mark.parametrize(
    "answer",
    [
        "def f(x):\n    return x",
        "def f(x):\n\treturn x",
        "def f(x): return x",
        "def f(x): y = x if x else 1; return y",
        "```python\nx = 1\nprint(x)\n```",
        "```python\ndef f(x):\n```",
        "```python\ndef f(x):\n...\n```",
        "```python\ndef f(x):\n# your code\n```",
        "```python\ndef f(x):\n\ndef g(x):\n```",
        "```python\n>>> def f(x):\n... return x\n```",
        "```diff\n-def f(x):\n+def g(x):\n```",
        "```\nfor each x:\nprint x\n```",
        "```python\nfor each x:\nprint x\n```",
        "```python\nfor x in y:\nprint x\n```",
        "```python\nx = '''\nfor y in x:\nso\n'''\n```",
        "def f(x):\nreturns x, which is what is asked",
        "def f(x): returns the sum of x",
        "def f(x): ... some code = here ... return {x}",
        "def f(x): print x",
        "def f(x): return x  # or return x + 1",
        'def f(self): """So."""  # subclasses return it',
        'def f(self): """So."""  # returns (x)',
        "def f(x): return ' # y = 1 return x z = 2 return z'",
        "def: a short word for define",
        "It is so:\nif x:\nreturn 1",
        f"for\n{STRIPPED}",
    ],
)
def test_is_silent_on_other_code(answer):
    assert faults(answer) == []


def test_is_silent_where_such_code_is_asked_for():
    assert faults(STRIPPED, "Write it without indentation.") == []
    row = parts_of({"prompt": STRIPPED, "completion": "It is not indented."})
    assert list(lost_indentation(row)) == []


def test_texts_are_looked_at_and_need_no_prompt():
    row = parts_of({"text": STRIPPED + "  # format this"})
    assert [fault.char for _, fault in lost_indentation(row)] == [10]
