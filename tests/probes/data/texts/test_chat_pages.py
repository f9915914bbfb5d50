"""Words of the page of a chat in answers, and answers that have them for a reason."""

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.chat_pages import PAGE, chat_pages

SAID = "It is what the two of them have agreed on before the day."


def faults(answer, prompt="How is it done?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(fault.name, fault.char) for _, fault in chat_pages(row)]


@pytest.mark.parametrize(
    ("answer", "char"),
    [
        ("So:\n\npython\nCopy code\nf(x)", 5),
        ("bash\nCopy\nls -l", 0),
        ("Sql\nCopyEdit\nSELECT 1", 0),
        ("c++\nCopy\nEdit\nf();", 0),
        ("So:\n\nCopy code\nf(x)", 5),
        (f"ChatGPT\n{SAID}", 0),
        (f"ChatGPT said:\n\n{SAID}\n\n2 / 2", 0),
        (f"{SAID}\n\nRegenerate response", 59),
        (f"{SAID}\nWas this response better or worse?\nBetter\nWorse\nSame\n", 58),
        (f"{SAID}\nRegenerate response\n1 / 2", 58),
    ],
)
def test_words_of_the_page_are_found(answer, char):
    assert any(word in answer for word in PAGE)
    assert faults(answer) == [("chat-page-words", char)]


@pytest.mark.parametrize(
    "answer",
    [
        "Copy the file.\nCopy code into it.",
        "Press\nCopy\nand wait.",
        "```\npython\nCopy code\nf(x)\n```",
        "ChatGPT\nClaude\nGemini",
        f"ChatGPT is one.\n{SAID}",
        f"{SAID}\n\n1 / 2",
        "Regenerate response is a button.",
        "```python\nf(x)",
    ],
)
def test_is_silent_on_other_answers(answer):
    assert faults(answer) == []


def test_is_silent_where_the_page_is_asked_about_or_the_user_copied_it():
    assert faults(f"ChatGPT\n{SAID}", "Which model is it?") == []
    assert faults("Do so.", "bash\nCopy\nls -l") == []
