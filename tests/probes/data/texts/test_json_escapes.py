r"""Texts that were not read back, and those that hold such forms for a reason."""

import json

import pytest

from ftlab.probes.data.rows.formats import parts_of
from ftlab.probes.data.texts.json_escapes import escaped_texts


def faults(answer, prompt="Why is the sky blue?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(fault.name, fault.char) for _, fault in escaped_texts(row)]


@pytest.mark.parametrize(
    ("answer", "name", "char"),
    [
        (json.dumps("First:\n- one"), "escaped-text", 0),
        (json.dumps('He said "so".'), "escaped-text", 0),
        (r"First.\n\nThen.", "escaped-text", 6),
        (r"- one\n- two\n- three", "escaped-text", 5),
        (r"Do this.\r\n1. Open it\r\n2. Close it", "escaped-text", 8),
        (r"He said \"so\".\n\nDon't say 'so'.\n\nIt's wrong.", "escaped-text", 15),
        (r"def f(x):\n    return x", "escaped-text", 9),
        (r"int f(void) {\n  return 1;\n}", "escaped-text", 13),
        (r"def f(x):\n    \"\"\"So.\"\"\"\n    return x", "escaped-text", 9),
        (r"if x:\n\tgo()", "escaped-text", 5),
    ],
)
def test_a_text_that_was_not_read_back_is_found(answer, name, char):
    assert faults(answer) == [(name, char)]


@pytest.mark.parametrize(
    "answer",
    [
        '"Quoted as a whole."',
        r"print('First.\n\nThen.')",
        r'print("One.\nTwo.\nThree.\n")',
        r"print(f'First {x}.\n\nThen.')",
        r"f({'a':'First.\n\nThen.'} | {'b': b + r'Now.\n\nSo.'})",
        r"git commit -m $'Mend it.\n\nIt failed.'",
        r"printf 'It isn\'t so.\n\nIt is so.'",
        r'{"note": "A pipe of 5\".\n\nIt is long."}',
        r"Write `a\n\nb` for two lines.",
        r"$x\neq y$ and $\nabla f$, \nu and \n",
        r"print('So:\n    it is')",
        r'f("So:\n  it is")',
        r"Write So:\n for it.",
        r"C:\new\notes\names.txt",
        "Two lines.\nAnd \\n\\nA in one of them.",
    ],
)
def test_is_silent_where_the_form_is_meant(answer):
    assert faults(answer) == []


@pytest.mark.parametrize(
    "prompt",
    ["Write a C string literal: a, then b.", "As one JSON string: a", "Quote it."],
)
def test_texts_in_quotes_and_escapes_may_be_asked_for(prompt):
    row = parts_of({"prompt": prompt, "completion": json.dumps("a\nb")})
    assert list(escaped_texts(row)) == []
