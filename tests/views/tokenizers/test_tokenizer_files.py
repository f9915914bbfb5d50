"""What the files of a tokenizer say, in words."""

from ftlab.records.tokenizer_files import Agreement, FileState, TokenizerFiles
from ftlab.views.tokenizers.tokenizer_files import TokenizerFilesView

FILES = (
    FileState("tokenizer.json", 2048),
    FileState("config.json", 3, "it holds a JSON array, not an object"),
)
TOLD = (
    Agreement("eos_token", "agrees", "'</s>'", {"a.json": "</s>", "b.json": "</s>"}),
    Agreement("pad_token", "differs", "a says x, b says y", {"a.json": "x"}),
    Agreement("embedding", "fails", "too few rows"),
    Agreement("truncation", "noted", "left over"),
    Agreement("as loaded", "not checked", "it was not"),
)


def test_text_marks_what_differs_fails_and_was_not_checked():
    view = TokenizerFilesView(TokenizerFiles("mine", FILES, TOLD))
    assert not view.ok
    assert repr(view) == (
        "Tokenizer files of mine: 1 file cannot be read, 2 disagreements, not "
        "everything is checked\n"
        "x config.json  it holds a JSON array, not an object\n"
        "  files        tokenizer.json 2 KiB\n"
        "= eos_token    '</s>'\n"
        "≠ pad_token    a says x, b says y\n"
        "x embedding    too few rows\n"
        "  truncation   left over\n"
        "? as loaded    it was not"
    )


def test_notes_are_no_disagreement_and_what_was_not_checked_is_not_well():
    noted, unchecked = TOLD[3:]
    assert TokenizerFilesView(TokenizerFiles("mine", FILES[:1], (noted,))).ok
    assert not TokenizerFilesView(TokenizerFiles("mine", (), (unchecked,))).ok


def test_the_table_has_a_row_for_each_subject_and_file():
    table = TokenizerFilesView(TokenizerFiles("mine", FILES, TOLD)).table()
    assert list(table["subject"]) == [
        "config.json",
        "eos_token",
        "eos_token",
        "pad_token",
        "embedding",
        "truncation",
        "as loaded",
    ]
    assert list(table["says"])[1:4] == ["</s>", "</s>", "x"]
