"""What a scan comes to."""

from tokenizers import normalizers

from ftlab.session import data_scanning, data_verdict
from tests.probes.tokens import vocabularies
from tests.session.test_data import TOKENIZER, asked, chat
from tests.session.test_data_scanning import scanned


def test_what_was_not_looked_for_is_said(monkeypatch):
    monkeypatch.setattr(data_scanning, "minhash", lambda: None)
    monkeypatch.setattr(data_verdict, "repairer", lambda: None)
    scan = scanned(chat())
    assert [each.partition(":")[0] for each in scan.not_checked] == [
        "tokens, special tokens and what is cut off",
        "rows of the evaluation data",
        "wrong encodings beyond U+FFFD",
        "rows that are almost the same",
    ]
    assert scan.near is None


def test_a_template_that_refuses_is_said():
    tokenizer = type(TOKENIZER)(tokenizer_object=TOKENIZER.backend_tokenizer)
    tokenizer.chat_template = "{{ raise_exception('never') }}"
    scan = scanned(chat(), tokenizer=tokenizer)
    assert scan.not_checked[0].startswith("the chat template's own tokens: ")
    assert not scan.lengths.template


def test_a_tokenizer_that_composes_letters_is_served_well():
    rows = asked(chat(), 0, "Le cafe\u0301 est ferme\u0301")
    composing = vocabularies.byte_level()
    composing.backend_tokenizer.normalizer = normalizers.NFC()
    assert scanned(rows, tokenizer=composing).issues == ()
    names = [issue.name for issue in scanned(rows, tokenizer=TOKENIZER).issues]
    assert names == ["decomposed-letters"]


def test_greetings_that_most_conversations_begin_with_are_their_form():
    said = [("Hello. What may I do?", f"My bill {at}."[: 9 + at]) for at in range(30)]
    said += [("Hi.", f"My bill of day {at} is wrong.") for at in range(20)]
    names = ("assistant", "user")
    rows = [
        {"messages": [{"role": r, "content": c} for r, c in zip(names, e, strict=True)]}
        for e in said
    ]
    assert scanned(rows).issues == ()


def test_nan_may_be_one_of_many_short_answers():
    rows = [{"prompt": f"What is {at}?", "completion": f"{at}"} for at in range(30)]
    rows.append({"prompt": "What is 0/0?", "completion": "nan"})
    assert scanned(rows).issues == ()
    for row in rows[:30]:
        row["completion"] += " is what it is, " + "and it has been so for ever " * 2
    assert [i.name for i in scanned(rows).issues] == ["missing-value-as-answer"]


def test_the_marks_of_another_model_are_told():
    rows = asked(chat(), 0, "[INST] How are you today? [/INST]")
    (issue,) = scanned(rows, tokenizer=TOKENIZER).issues
    assert (issue.name, issue.code) == ("foreign-mark-in-content", "DAT063")
    assert scanned(rows).issues == ()


def test_marks_that_most_texts_lack_are_not_missed():
    texts = [{"text": f"{at}."} for at in range(9)]
    ended = [{"text": f"{at}<|im_end|>"} for at in range(9, 30)]
    assert scanned(texts + ended[:8], tokenizer=TOKENIZER).issues == ()
    (issue,) = scanned(texts + ended, tokenizer=TOKENIZER).issues
    assert (issue.name, issue.rows) == ("missing-end-mark", 9)


def test_a_single_conversation_is_counted_with_its_template():
    scan = scanned(chat(1), tokenizer=TOKENIZER)
    assert (scan.lengths.template, scan.lengths.error) == (True, 0)


def test_an_error_of_the_counting_is_told():
    tokenizer = vocabularies.byte_level()
    tokenizer.chat_template = TOKENIZER.chat_template.replace(
        "m['content']", "m['content'] * 2"
    )
    scan = scanned(chat(), tokenizer=tokenizer)
    assert scan.lengths.error > 10


def talks(systems, **more):
    said = [
        ("system", None),
        ("user", "Where, {at}?"),
        ("assistant", "At the gate {at}."),
    ]
    return [
        {
            "messages": [
                {
                    "role": role,
                    "content": system if text is None else text.format(at=at),
                }
                for role, text in said
            ]
        }
        | more
        for at, system in enumerate(systems)
    ]


def names(rows):
    return [issue.name for issue in scanned(rows, near=False).issues]


def test_system_messages_are_missed_where_others_have_one():
    assert names(talks(["Be brief.", "Be brief.", ""])) == ["empty-system"]
    assert names(talks(["", "", ""])) == []
    assert names(talks([*(f"You are {n}." for n in range(20)), ""])) == []


def test_pictures_are_missed_where_others_have_one():
    rows = talks(["Look."] * 3)
    rows[1]["messages"][1]["content"] = "<image> What is it?"
    assert names(rows) == []
    assert names([*rows, *talks(["Look."], image="a.png")]) == ["picture-missing"]
