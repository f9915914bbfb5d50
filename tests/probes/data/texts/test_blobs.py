"""Files written out in base64, and long runs of letters that are none."""

import base64
import random

import pytest

from ftlab.probes.data.rows.row_parts import parts_of
from ftlab.probes.data.texts.blobs import SHORTEST, blobs, may_hold_blob

HELD = base64.b64encode(random.Random(3).randbytes(900)).decode()


def faults(answer, prompt="What does it show?"):
    row = parts_of({"prompt": prompt, "completion": answer})
    return [(fault.name, fault.char) for _, fault in blobs(row)]


@pytest.mark.parametrize("before", [0, 1, 150, 399, 400, 777])
def test_a_file_in_a_text_is_found_wherever_it_begins(before):
    text = f"{'It is. ' * 200}"[:before] + f"({HELD[: SHORTEST + 8]}) is it."
    assert faults(text) == [("file-in-text", before + 1)]
    assert may_hold_blob(f"What does it show?\n{text}")


@pytest.mark.parametrize(
    ("answer", "prompt"),
    [
        ("It is so. " * 200, "Why?"),
        (HELD[: SHORTEST - 10], "Why?"),
        (HELD, "Encode it in base64."),
        (HELD, "Decode this."),
        ("ACGT" * 300, "Which gene?"),
        ("0123456789abcdef" * 60, "Which digest?"),
        ("3" + "14159265358979" * 60, "Which digits has pi?"),
        ("東京は大きい都市です。" * 90, "なに?"),
        ("https://a.b/c?" + "&".join(f"name{i}=Value{i}" for i in range(90)), "Where?"),
        ("\n".join(HELD[at : at + 64] for at in range(0, 1200, 64)), "Which letter?"),
        ("a" * 900, "Scream!"),
        ("function(a){return a.b(C)}" * 40, "Make it small."),
    ],
)
def test_is_silent_on_other_long_runs(answer, prompt):
    assert faults(answer, prompt) == []
