"""What labels and answers show over all rows, and where nothing is told."""

import random

import pytest

from ftlab.probes.data.across.label_reports import report_labels
from tests.probes.data.scanned import rows_with, scanned

QUEUES = ("billing", "shipping", "refund", "other")
APOLOGY = "I am sorry, but nothing at all was found about it; please ask somebody else."
KINDS = (
    "one-label",
    "label-spelt-apart",
    "labels-contradict",
    "answer-of-many",
    "sorted-by-label",
    "label-in-prompt",
)


def labelled(count=100, labels=QUEUES, seed=0):
    numbers = random.Random(seed)
    return [
        {"text": f"Mail {at} came in.", "label": numbers.choice(labels)}
        for at in range(count)
    ]


def asked(answers):
    return [
        {"prompt": f"What is number {at}?", "completion": answer}
        for at, answer in enumerate(answers)
    ]


def told(rows, whole=True):
    scan = scanned(rows)
    report_labels(scan, whole=whole)
    found = {name: rows_with(scan, name) for name in KINDS if rows_with(scan, name)}
    said = {name: scan.findings.spots[name][0].says for name in found}
    scan.close()
    return found, said


TAGS = "O B-PER I-PER O O B-LOC I-LOC O O O B-ORG I-ORG O B-DATE I-DATE O"


def essays(count):
    return [
        f"Number {at} is the {at}th of them, and is told at length."
        for at in range(count)
    ]


WHO = (
    "Who are you?",
    "What is your name?",
    "Who made you?",
    "Introduce yourself.",
    "Which model are you?",
    "Is this Ada?",
    "Do you have a name?",
    "Are you a person?",
    "May I ask who I am talking to?",
    "Tell me about yourself.",
)
SELF = "You are talking to Lin, a helper of a small laboratory. Ask me about your code."
REPLY = "Hello! Thank you for writing to us. Somebody will look at it within two days."
RESET = "Open the page of your account, choose Security, and ask for a new password."


def among_essays(prompts, answer, count=300):
    """Write rows in which some prompts have one answer."""
    some = [{"prompt": prompt, "completion": answer} for prompt in prompts]
    return some + asked(essays(count))


def forgotten(count=40):
    return [f"Case {at}: I forgot my password, number {at}." for at in range(count)]


def few_long(count=60):
    return [f"{APOLOGY} {at % 3}" for at in range(count)]


@pytest.mark.parametrize(
    "rows",
    [
        labelled(),
        labelled(labels=("no",) * 9 + ("yes",)),
        labelled(49, labels=("a",)),
        asked(essays(60)),
        asked(few_long()),
        asked([TAGS] * 20 + essays(40)),
        asked([str(TAGS.split())] * 20 + essays(40)),
        asked(["DET NOUN VERB DET ADJ NOUN " * 3] * 20 + essays(40)),
        asked([APOLOGY if at % 3 else "none" for at in range(60)]),
        asked([APOLOGY] * 9 + essays(51)),
        [{"prompt": "Once more?", "completion": APOLOGY}] * 60,
        among_essays(WHO, SELF, 0),
        among_essays(WHO, SELF, 50),
        among_essays([f"Mail {at}?" for at in range(40)], REPLY),
        among_essays(forgotten(), RESET),
        among_essays(WHO[:7], f"{RESET} 1", 0) + among_essays(WHO, RESET, 0),
        asked([str(at % 30) for at in range(100)]),
        [{"text": "The same.", "label": None}] * 60,
        [{"input_ids": [1]}] * 60,
    ],
)
def test_is_silent_on_healthy_rows(rows):
    assert told(rows) == ({}, {})


@pytest.mark.parametrize(
    "rows",
    [
        labelled(50, labels=("billing",)),
        asked(["billing"] * 50),
        [{**row, "label": False} for row in asked(essays(50))],
    ],
)
def test_one_label_for_all_rows_is_found(rows):
    found, said = told(rows)
    assert found == {"one-label": list(range(50))}
    assert said["one-label"].endswith(", as in all 50 rows")
    assert told(rows, whole=False)[0] == {}


def test_texts_that_became_truth_values_are_named_where_all_are_true():
    rows = asked(essays(50))
    for label, ends in ((True, "rows: bool('False') is True"), (False, "50 rows")):
        says = told([{**row, "label": label} for row in rows])[1]["one-label"]
        assert says.endswith(ends)


def test_a_label_that_some_rows_lack_is_not_that_of_all():
    rows = labelled(60, labels=("billing",))
    assert told([*rows, {"text": "No label."}])[0] == {}


def test_classes_in_two_spellings_are_found():
    rows = labelled()
    for at, spelt in ((7, str.upper), (31, "{} ".format)):
        rows[at]["label"] = spelt(rows[at]["label"])
    found, said = told(rows)
    assert found == {"label-spelt-apart": [7, 31]}
    usual = rows[7]["label"].lower()
    assert said["label-spelt-apart"] == f"{usual.upper()!r}, and {usual!r} elsewhere"


def test_letters_and_spellings_that_are_as_usual_are_in_order():
    assert told(labelled(labels=("A", "A", "A", "A", "a", "B")))[0] == {}
    assert told(labelled(labels=("May", "may")))[0] == {}


def test_one_text_with_two_labels_is_found_in_its_later_row():
    rows = labelled()
    other = QUEUES[QUEUES.index(rows[3]["label"]) - 1]
    again = [
        rows[4],
        {**rows[3], "label": other},
        {**rows[5], "label": rows[5]["label"].upper()},
    ]
    found, said = told([*rows, *again])
    assert found["labels-contradict"] == [101]
    assert said["labels-contradict"] == f"{other!r}, and {rows[3]['label']!r} in row 3"


def test_what_other_columns_decide_is_no_contradiction():
    rows = labelled()
    for at, row in enumerate(rows):
        row["text"], row["aspect"] = f"Mail {at // 2}", ("price", "food")[at % 2]
    assert told(rows)[0] == {}


def test_one_long_answer_to_many_questions_is_found():
    answers = essays(100)
    answers[20:32] = [APOLOGY] * 12
    found, said = told(asked(answers))
    assert found == {"answer-of-many": list(range(20, 32))}
    assert said["answer-of-many"] == (
        "the answer of 12 rows that ask for different things"
    )
    assert told(asked(answers), whole=False)[0] == {}


def test_a_greeting_that_tells_of_a_failure_is_found():
    said = f"Hello! {APOLOGY}"
    rows = among_essays([f"What is number 9{at}?" for at in range(40)], said)
    assert told(rows)[0] == {"answer-of-many": list(range(40))}


def test_one_topic_is_none_where_all_ask_about_it():
    rows = among_essays(forgotten(), RESET, 0)
    for at, text in enumerate(essays(200)):
        prompt = f"Case {at + 40}: I forgot my password, number {at}."
        rows.append({"prompt": prompt, "completion": text})
    assert told(rows)[0] == {"answer-of-many": list(range(40))}


def test_rows_sorted_by_label_are_found():
    rows = sorted(labelled(), key=lambda row: row["label"])
    found, said = told(rows)
    assert found == {"sorted-by-label": list(range(100))}
    assert said["sorted-by-label"].startswith("4 stretches of one label; by chance 7")


def test_labels_in_brackets_are_found():
    rows = labelled()
    for row in rows:
        row["text"] = f"[{row['label'].upper()}] {row['text']}"
    assert told(rows)[0] == {"label-in-prompt": list(range(100))}
    for row in rows[:11]:
        row["text"] = row["text"].partition("] ")[2]
    assert told(rows)[0] == {}


NAMES = ("love", "food", "science and law")


def begun(names=NAMES, count=100):
    rows = classed(*((label, count // len(names)) for label in range(len(names))))
    return [
        row | {"text": f"[{names[row['label']]}] {row['text']}", "label": row["label"]}
        for row in rows
    ]


def test_a_word_in_brackets_for_each_number_is_found():
    rows = begun()
    rows[3]["text"] = rows[3]["text"].replace("[", "").replace("love", "food")
    found, said = told(rows)
    assert found["label-in-prompt"] == [at for at in range(len(rows)) if at != 3]
    assert "each label has its own" in said["label-in-prompt"]


@pytest.mark.parametrize(
    "names",
    [
        ("love", "love", "food"),
        ("1", "2", "3"),
        ("note", "note", "note"),
        ("a" * 60, "b" * 60, "c" * 60),
    ],
)
def test_brackets_that_tell_no_label_are_in_order(names):
    assert told(begun(names))[0] == {}


def test_words_in_brackets_that_stand_before_all_labels_are_in_order():
    rows = begun()
    for at, row in enumerate(rows):
        row["label"] = at // 2 % 3
    assert "label-in-prompt" not in told(rows)[0]
    rows = begun()[:45]
    assert "label-in-prompt" not in told(rows)[0]


def classed(*counts):
    """Write rows by how often each label occurs, in turn."""
    left = dict(counts)
    while any(left.values()):
        for label in [each for each, count in left.items() if count]:
            left[label] -= 1
            yield {"text": f"Bridge {label} {left[label]}.", "label": label}


def test_rows_that_nobody_labelled_are_found():
    rows = list(classed((0, 30), (1, 40), (2, 35), (-1, 3)))
    scan = scanned(rows)
    report_labels(scan, whole=False)
    expected = [at for at, row in enumerate(rows) if row["label"] == -1]
    assert rows_with(scan, "label-of-none") == expected


@pytest.mark.parametrize(
    "counts",
    [
        [(0, 30), (1, 30), (-1, 3)],
        [(0, 30), (1, 30), (2, 30), (-1, 30)],
        [(0, 30), (1, 30), (3, 30), (-1, 3)],
        [(-2, 5), (-1, 5), (0, 30), (1, 30), (2, 30)],
        [(0, 90), (1, 30), (2, 6), (3, 2), (-1, 4)],
        [(0, 30), (1, 30), (2, 30), (-100, 3)],
        [("0", 30), ("1", 30), ("2", 30), ("-1", 3)],
        [(-1, 60)],
    ],
)
def test_minus_one_may_be_a_class_or_a_number(counts):
    scan = scanned(list(classed(*counts)))
    report_labels(scan, whole=False)
    assert rows_with(scan, "label-of-none") == []
