"""Summaries and translations that are their source."""

import pytest

from ftlab.probes.data.across.echoes import Echoes, is_sentence
from ftlab.probes.data.rows.row_parts import parts_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def sentence(at):
    name = LETTERS[at % 26] * 3 + LETTERS[at // 26 % 26] * 3
    return f"There is a bridge over the river near {name}."


def document(at):
    return " ".join(sentence(at) for _ in range(6))


def foreign(at):
    return f"Eine andere Sprache, Satz {at}."


def found(rows):
    echoes = Echoes()
    for at, row in enumerate(rows):
        echoes.look(at, parts_of(row))
    return echoes.found()


def translated(same=(), count=100, text=sentence, answer=foreign, names=None):
    asked, said = names or ("source", "target")
    return [
        {asked: text(at), said: text(at) if at in same else answer(at)}
        for at in range(count)
    ]


def test_a_translation_that_is_its_source_is_found():
    assert found(translated({3, 50})) == [3, 50]


def test_a_summary_that_is_its_document_is_found():
    rows = translated({3}, text=document, answer=sentence, names=("text", "summary"))
    assert found(rows) == [3]


def test_a_single_sentence_is_its_own_summary():
    rows = translated({3}, text=document, answer=sentence, names=("text", "summary"))
    rows[7] = {"text": sentence(7), "summary": sentence(7)}
    assert found(rows) == [3]


def test_what_is_corrected_may_stay_as_it_is():
    def wrong(at):
        return sentence(at).replace("There", "Their")

    assert found(translated({3, 50}, answer=wrong)) == []


def test_other_rows_must_be_enough_and_more():
    assert found(translated({3}, 40)) == []
    assert found(translated(set(range(60)), 110)) == []


def test_prompts_and_answers_are_judged_otherwise():
    names = ("instruction", "output")
    assert found(translated({3}, names=names)) == []


@pytest.mark.parametrize(
    "text",
    [
        "University of Applied Sciences, Bremen",
        "for x in range(10): print(x); y = x if x else z + w - v",
        "if name in names: return {name: names[name]}; while loop: names += {other: 1}",
        "Anna Berger and Ben Adler",
        "\u4e2d\u6587\u53e5\u5b50\u3002",
        "--help --version --quiet --verbose --output --input",
        "",
    ],
)
def test_names_and_code_are_no_sentences(text):
    assert not is_sentence(text)


@pytest.mark.parametrize(
    "text",
    [
        "nicht alle Dateien konnten gelesen werden",
        "\u0444\u0430\u0439\u043b \u043d\u0435 \u0431\u044b\u043b \u0434\u043e "
        "\u043f\u0440\u043e\u0447\u0438\u0442\u0430\u043d \u043d\u0430\u043c\u0438",
    ],
)
def test_sentences_have_words_in_small_letters(text):
    assert is_sentence(text)


def test_of_many_rows_some_are_compared():
    rows = translated(range(1100, 1200), 1000) + translated({5}, 2000)
    assert found(rows) == [1005]
