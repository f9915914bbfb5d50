"""Letters and their accents are two characters each.

The texts come from names of files of macOS, or from PDF files; users type one.

Fix: ``unicodedata.normalize("NFC", text)``, on data and on prompts.

Source: huggingface/tokenizers#2116, ggml-org/llama.cpp#5496.
"""

import unicodedata

from ftlab.faults.builders.rows import fault_of_rows, looked_at, one_in, pairs
from ftlab.faults.fault import Case


def build(fixed: bool) -> Case:
    """Spell some letters apart from their accents."""
    rows = pairs()
    broken = one_in(6)
    for at in broken:
        text = f"{rows[at]['prompt']} Où va le café fermé ?"
        apart = unicodedata.normalize("NFD", text)
        rows[at]["prompt"] = text if fixed else apart
    spots = [f"row {at} prompt character *" for at in broken]
    return looked_at(rows, spots=spots)


FAULT = fault_of_rows(
    "words with accents are other tokens than users type",
    code="DAT063",
)
