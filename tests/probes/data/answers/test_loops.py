"""Answers that loop, and those that repeat for a reason."""

import pytest

from ftlab.probes.data.answers.loops import REPEATS, looping

SENTENCE = "The river carries the quiet boat past the old town. "
BLOCK = "It adds.\n\n```python\ndef add(one, two):\n    total = one + two\n{}\n```"


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("It is so. " + SENTENCE * 9, 9),
        (SENTENCE * 9 + SENTENCE[:20], 9),
        ("Later (if it is short, or cold) call `stop` at once. " * 9, 9),
        ("the " * 100, 99),
        ("我不知道。" * 60, 60),
        ("I do not know, and nobody does.\n" * 40, 39),
    ],
)
def test_repeats_up_to_the_end_are_found(text, times):
    fault = looping(text)
    assert fault.name == "looping-answer"
    assert abs(int(fault.says.split(" ")[0]) - times) <= 1
    length = int(fault.says.split(" ")[-2])
    end = text.rstrip()
    assert set(end[fault.char :]) == set(end[-length:])


@pytest.mark.parametrize("cut", [0, 5])
@pytest.mark.parametrize("line", ["    return total", "    )", "x"])
def test_a_line_of_code_behind_its_block_is_found(line, cut):
    text = f"{BLOCK.format(line)}" + f"\n{line}" * 70
    text = text[: len(text) - cut]
    fault = looping(text)
    assert fault.name == "looping-answer"
    assert text[fault.char :].startswith(f"\n{line}") or cut


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE * 3 + BLOCK.format("    return 1") + "\n    return 1" * 5,
        BLOCK.format("    0, 1,") + "\n\n```" + "\n    0, 1," * 15,
        BLOCK.format("    print(1)") + "\n1" * 40,
        BLOCK.format("    print('so')") + "\nso" * 40,
        BLOCK.format("    return 1") + "\n\nIt prints:\n" + "\n    return 1" * 15,
        BLOCK.format("    return 1\n" * 20),
    ],
)
def test_what_is_printed_behind_a_block_may_repeat(text):
    assert looping(text) is None


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE * (REPEATS - 1),
        SENTENCE * 9 + "And that is the end of the story of the boat.",
        "no " * 30,
        "La la la, the river and the stone\n" * 8,
        "| a | b | c | d | e |\n" * 30,
        "x = step(x, y, 0)  # again\n" * 30,
        "A" * 400,
        "-" * 400,
        "0 1 0 1 " * 60,
        "Step 1. Stir it well. " + "".join(f"Step {n}. Stir it. " for n in range(30)),
    ],
)
def test_is_silent_where_repeats_are_meant(text):
    assert looping(text) is None
