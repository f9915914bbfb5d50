"""What entries of files can decide on."""

import pytest

from ftlab.probes.tokenizer_files.changed_parts import changed_parts
from ftlab.records.fingerprint import PARTS


@pytest.mark.parametrize(
    ("file", "entry", "parts"),
    [
        ("tokenizer.json", "post_processor", {"post-processor"}),
        ("tokenizer.json", "model.merges", {"merges"}),
        ("tokenizer.json", "model.byte_fallback", {"model"}),
        ("tokenizer.json", "padding", set()),
        ("tokenizer.json", "", set(PARTS)),
        ("tokenizer_config.json", "chat_template", {"chat template"}),
        ("tokenizer_config.json", "padding_side", {"switches"}),
        ("tokenizer_config.json", "tokenizer_class", set(PARTS)),
        ("chat_template.jinja", "", {"chat template"}),
    ],
)
def test_an_entry_decides_on_its_parts(file, entry, parts):
    assert changed_parts({file: (entry,)}) == parts


def test_marks_and_vocabularies_decide_on_several():
    assert "special tokens" in changed_parts({"special_tokens_map.json": ("",)})
    assert "merges" in changed_parts({"vocab.json": ("a",)})
    assert changed_parts({}) == frozenset()
