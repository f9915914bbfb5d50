"""What is read of tokenizers that are written in Python, and of bare cores."""

from ftlab.probes.tokenizers.foreign_cores import core_within
from ftlab.probes.tokenizers.python_reader import BareReader, PythonReader
from tests.probes.tokenizers.real import TEKKEN, HoldsTiktoken, mistral, slow_form
from tests.probes.tokens.vocabularies import slow

TEXT = "Größe 日本 fox"


def reader(tokenizer) -> PythonReader:
    return PythonReader(tokenizer, core_within(tokenizer))


def test_the_class_stands_for_the_code():
    assert reader(slow()).model() == {"type": "Slow"}
    assert reader(slow()).merges() == b""


def test_merges_are_those_by_their_usual_name():
    class Merging:
        def __init__(self, *merges):
            self.bpe_ranks = {each: rank for rank, each in enumerate(merges)}

        def get_vocab(self):
            return {}

    first = reader(Merging(("a", "b"), ("b", "c"))).merges()
    assert first == reader(Merging(("a", "b"), ("b", "c"))).merges() != b""
    assert first != reader(Merging(("b", "c"), ("a", "b"))).merges()


def test_ids_are_those_of_a_call():
    for tokenizer in (slow(), slow_form()):
        found = reader(tokenizer)
        assert found.ids(TEXT) == tokenizer(TEXT)["input_ids"]
        assert found.encoded(TEXT)[0] == tokenizer(TEXT)["input_ids"]
        assert found.decoded(found.ids("two words")).strip() == "two words"


def test_pieces_are_told_both_ways():
    assert reader(slow()).pieces([65, 66]) == ["b65", "b66", 65, 66]


def test_writings_are_told():
    assert reader(slow()).writing == "text"
    assert reader(HoldsTiktoken()).writing == "latin-1"


def test_bare_cores_are_read_without_a_tokenizer():
    for name, library in (
        (TEKKEN, "tiktoken"),
        ("tokenizer.model.v1", "sentencepiece"),
    ):
        core = mistral(name).tokenizer.instruct_tokenizer.tokenizer._model
        found = BareReader(core, core)
        assert found.backend == library
        assert found.size() == len(found.vocabulary())
        ids, spans = found.encoded(TEXT)
        assert (found.ids(TEXT), spans) == (ids, None)
        assert found.decoded(ids) == TEXT
        assert found.pieces(ids[:1]) == [found.decoded(ids[:1])]
        assert found.merges()
