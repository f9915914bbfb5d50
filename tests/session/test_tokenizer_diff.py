"""`ftlab.tokenizer_diff` as a user calls it."""

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

import ftlab
from ftlab.probes.tokenizers.kept_print import keep_beside
from ftlab.records.errors import BadValueError
from tests.probes.tokenizers.real import fast_form, mistral, slow_form
from tests.probes.tokens.vocabularies import LINES, byte_level, slow, unigram


def changed(**settings) -> PreTrainedTokenizerFast:
    """Return a copy of one tokenizer with other settings."""
    made = byte_level()
    inner = Tokenizer.from_str(made.backend_tokenizer.to_str())
    special = dict(made.special_tokens_map) | settings
    copy = PreTrainedTokenizerFast(tokenizer_object=inner, **special)
    copy.chat_template = made.chat_template
    return copy


@pytest.mark.parametrize("make", [byte_level, unigram, slow, mistral, slow_form])
def test_a_tokenizer_is_the_same_as_itself(make):
    view = ftlab.tokenizer_diff(make(), make(), texts=LINES)
    assert view.same
    assert view.diff.equal == len(LINES)
    assert view.diff.unchecked == ()


def test_a_prefix_space_is_named_at_the_first_word():
    plain = fast_form(add_prefix_space=False)
    view = ftlab.tokenizer_diff(plain, fast_form(), ["Hello there"])
    row = view.table().iloc[0]
    assert (row["left"], row["right"], row["character"]) == ("Hello", " Hello", 0)
    assert not view.same


def test_another_end_and_another_template_are_named_where_all_ids_are_the_same():
    other = changed(eos_token="<|pad|>")
    other.chat_template += "{{ eos_token }}"
    view = ftlab.tokenizer_diff(byte_level(), other, texts=LINES)
    assert view.diff.equal == len(LINES)
    assert not view.same
    assert "eos_token '<|im_end|>' against '<|pad|>'" in repr(view)
    assert "≠ chat template" in repr(view)


def test_a_switch_that_changes_what_is_decoded_shows_in_what_comes_back():
    cleaning = unigram()
    inner = Tokenizer.from_str(cleaning.backend_tokenizer.to_str())
    keeping = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        **cleaning.special_tokens_map,
        clean_up_tokenization_spaces=True,
    )
    view = ftlab.tokenizer_diff(cleaning, keeping, texts=["do you , see ?"])
    assert view.diff.equal == 1
    assert (view.diff.left.restored, view.diff.right.restored) == (1, 0)


def test_special_tokens_under_other_ids_are_named():
    bigger = changed()
    bigger.add_tokens(["<extra>"])
    lines = [{"<new>": 424, "<|late|>": 425}, {"<|late|>": 424}]
    one, two = changed(), changed()
    one.add_special_tokens({"additional_special_tokens": list(lines[0])})
    two.add_special_tokens({"additional_special_tokens": list(lines[1])})
    view = ftlab.tokenizer_diff(one, two, texts=["a"])
    assert view.diff.shifted == {"<|late|>": (425, 424)}
    assert view.diff.moved.left_only == 1
    assert ftlab.tokenizer_diff(changed(), bigger).diff.moved.right_only == 1


def test_folders_and_kept_fingerprints_are_compared(tmp_path):
    byte_level().save_pretrained(tmp_path / "old")
    other = changed(eos_token="<|pad|>")
    other.save_pretrained(tmp_path / "new")
    live = ftlab.tokenizer_diff(tmp_path / "old", str(tmp_path / "new"), LINES)
    assert repr(live).startswith("Tokenizers: old against new: the same ids in all")
    path = ftlab.fingerprint(byte_level()).save(tmp_path / "kept.json")
    view = ftlab.tokenizer_diff(path, other, texts=LINES)
    assert view.diff.changes == live.diff.changes
    assert view.diff.moved is None
    assert "pass the tokenizer or its folder" in view.diff.unchecked[0]


def test_without_texts_it_says_what_to_pass():
    view = ftlab.tokenizer_diff(byte_level(), byte_level())
    assert "texts=[...]" in view.diff.unchecked[0]
    assert len(view.table()) == 0


def test_one_text_may_be_given_by_itself():
    assert ftlab.tokenizer_diff(byte_level(), unigram(), "abc").diff.texts == 1
    assert (
        ftlab.tokenizer_diff(byte_level(), unigram(), (t for t in "ab")).diff.texts == 2
    )


def test_texts_that_are_none_are_refused():
    with pytest.raises(BadValueError, match=r"texts is an int; it must be a list"):
        ftlab.tokenizer_diff(byte_level(), unigram(), 3)
    with pytest.raises(BadValueError, match=r"texts\[1\] is a dict; each must be"):
        ftlab.tokenizer_diff(byte_level(), unigram(), ["a", {"text": "b"}])


def test_a_text_that_a_tokenizer_raises_at_is_named():
    bare = Tokenizer(models.WordLevel({"a": 0}, unk_token="<none>"))
    with pytest.raises(BadValueError, match=r"texts\[1\], 'b', cannot be encoded"):
        ftlab.tokenizer_diff(bare, bare, ["a", "b"])


def test_what_is_no_tokenizer_is_refused():
    with pytest.raises(BadValueError, match=r"tokenizer_diff\(a, b\) was given a dict"):
        ftlab.tokenizer_diff({}, byte_level())


def test_looking_leaves_a_tokenizer_as_it_was():
    made = changed()
    made(["a b c"], truncation=True, max_length=2)
    ftlab.tokenizer_diff(made, byte_level(), LINES)
    assert made.backend_tokenizer.truncation["max_length"] == 2


def test_a_checkpoint_that_was_trained_with_another_tokenizer_is_named(tmp_path):
    byte_level().save_pretrained(tmp_path / "mine")
    keep_beside(tmp_path / "mine", ftlab.fingerprint(unigram()).fingerprint)
    diff = ftlab.tokenizer_diff(tmp_path / "mine", byte_level(), texts=["a"])
    assert diff.same
    assert "≠ trained with" in repr(diff)
    assert "mine: a different tokenizer" in repr(diff)
    keep_beside(tmp_path / "mine", ftlab.fingerprint(byte_level()).fingerprint)
    assert "trained with" not in repr(
        ftlab.tokenizer_diff(tmp_path / "mine", unigram())
    )
