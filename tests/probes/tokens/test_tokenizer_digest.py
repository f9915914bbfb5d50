"""What tells two tokenizers apart, and how often that is computed."""

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from ftlab.probes.tokens.tokenizer_digest import TokenizerWatch, tokenizer_digest


class Counted(PreTrainedTokenizerFast):
    """Counts how often its vocabulary is read."""

    reads = 0

    def get_vocab(self):
        self.reads += 1
        return super().get_vocab()


def made() -> Counted:
    inner = Tokenizer(WordLevel({"a": 0, "b": 1, "[UNK]": 2}, unk_token="[UNK]"))
    return Counted(tokenizer_object=inner, unk_token="[UNK]", pad_token="[UNK]")


def test_equal_tokenizers_have_equal_digests_whatever_was_called():
    first, second = made(), made()
    second(["a b", "a"], padding=True, truncation=True, max_length=2)
    assert tokenizer_digest(first) == tokenizer_digest(second)


def test_a_changed_one_has_another():
    first, second, third = made(), made(), made()
    second.add_tokens(["c"])
    third.chat_template = "{{ messages }}"
    assert len({tokenizer_digest(each) for each in (first, second, third)}) == 3


def test_the_vocabulary_is_read_again_only_after_a_change():
    tokenizer = made()
    watch = TokenizerWatch(tokenizer)
    first = watch()
    before = tokenizer.reads
    assert [watch(), watch()] == [first, first]
    assert tokenizer.reads == before
    tokenizer.add_tokens(["c"])
    assert watch() != first
