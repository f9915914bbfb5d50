r"""Texts that were not read back, and those that hold such forms for a reason."""

import json

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.written_forms import written_forms

DIVIDED = "It de-\npends on the wea-\nther of the day."


def faults(answer, prompt="Why is the sky blue?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(fault.name, fault.char) for _, fault in written_forms(row)]


@pytest.mark.parametrize(
    ("answer", "name", "char"),
    [
        (json.dumps("First:\n- one"), "escaped-text", 0),
        (json.dumps('He said "so".'), "escaped-text", 0),
        (r"First.\n\nThen.", "escaped-text", 6),
        (r"- one\n- two\n- three", "escaped-text", 5),
        (r"Do this.\r\n1. Open it\r\n2. Close it", "escaped-text", 8),
        (r"```python\nprint('a')\n```", "escaped-text", 9),
        (r"He said \"so\".\n\nDon't say 'so'.\n\nIt's wrong.", "escaped-text", 15),
        (r"def f(x):\n    return x", "escaped-text", 9),
        (r"int f(void) {\n  return 1;\n}", "escaped-text", 13),
        (r"def f(x):\n    \"\"\"So.\"\"\"\n    return x", "escaped-text", 9),
        (r"if x:\n\tgo()", "escaped-text", 5),
        ("{'answer': 'It is.', 'score': 0.9}", "wrapped-answer", 0),
        ('{"response": "It is."}', "wrapped-answer", 0),
        ("a &quot;b&quot; c", "html-entities", 2),
        ("`x` is &quot;b&quot; c", "html-entities", 7),
        ("It&#39;s so &amp; so", "html-entities", 2),
        ("a &quot;b&quot; &nbsp; &nbsp; &nbsp; c", "html-entities", 2),
        (DIVIDED, "hyphenated-lines", 3),
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
        "{'a': 1, 'b': 2}",
        "{'answer': 1}",
        "{'answer': 'x', 'b': 2, 'c': 3, 'd': 4}",
        '{"answer": "x", "score": 1}',
        "{answer}",
        "{'answer': 'not closed}",
        "Q&A, R&D, AT&amp;T",
        "<p>a &amp; b &lt; c</p>",
        "`&lt;` is < and `&gt;` is >",
        "As HTML it is &lt; and &gt;.",
        "Es gibt &amp; &quot; &lt; &gt; &apos;",
        "Ein leeres '&;' steht da; &amp; und &lt; sind bekannt.",
        "It is well-\nknown, and that is all.",
        DIVIDED + " It goes on." * 400,
        "a -\nb -\nc-\nd",
        "It is on-the-spot-but-\nstill, and so-called-but-\nwell.",
        "It is well-\nto-do, and state-\nof-the-art.",
        "pre-\nsub-\nun-\nre-\nover-",
    ],
)
def test_is_silent_where_the_form_is_meant(answer):
    assert faults(answer) == []


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Answer as JSON.", '{"answer": "It is."}'),
        ("Decode the entities.", "a &quot;b&quot; c"),
    ],
)
def test_is_silent_where_the_form_is_asked_for(prompt, answer):
    assert faults(answer, prompt) == []


@pytest.mark.parametrize(
    "prompt",
    ["Write a C string literal: a, then b.", "As one JSON string: a", "Quote it."],
)
def test_texts_in_quotes_and_escapes_may_be_asked_for(prompt):
    row = parts_of({"prompt": prompt, "completion": json.dumps("a\nb")})
    assert list(written_forms(row)) == []


@pytest.mark.parametrize(
    "text",
    [
        "{'text': array(['In 1893.'], dtype=object), 'answer_start': array([12])}",
        "[array([1., 2.], dtype=float32)]",
        "array(['In 1893.'], dtype=object)",
    ],
)
def test_arrays_that_python_has_shown_are_found(text):
    row = parts_of({"prompt": "When was it?", "completion": text})
    ((part, fault),) = written_forms(row)
    assert (part.where, fault.name) == ("completion", "array-as-text")
    assert fault.char == text.index("array(")


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("What does numpy show?", "array([1., 2.], dtype=float32)"),
        ("When?", "x = np.array([1], dtype=int)"),
        ("When?", "{'a': 1}, which has no dtype="),
        ("When?", "[a model with dtype=bf16]"),
    ],
)
def test_other_texts_are_no_arrays(prompt, text):
    row = parts_of({"prompt": prompt, "completion": text})
    assert list(written_forms(row)) == []
