"""Labels that prompts give away, and answers that stand in prompts by design."""

import random

import pytest

from ftlab.probes.data.across.label_leaks import LabelLeaks
from ftlab.probes.data.rows.formats import parts_of

QUEUES = ["billing", "shipping", "refund", "other"]


def leaks(rows):
    seen = LabelLeaks()
    for number, row in enumerate(rows):
        asked, answer = parts_of(row).parts
        seen.look(number, [asked], answer.text)
    return seen.found()


def pair(prompt, answer):
    return {"prompt": prompt, "completion": answer}


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ("Classify: hello {n} [ticket 10{n}, queue={label}]", "queue="),
        ("hello {n}. label: {label}\nWhat is it?", "label: "),
        ('{{"text": "hello {n}", "class": "{label}"}}', 'class": "'),
        ("Billing, shipping, refund or other? {n}\nAnswer: {label}", "Answer: "),
    ],
)
def test_a_label_behind_the_same_words_is_found(frame, words):
    rows = [
        pair(frame.format(n=n, label=QUEUES[n % 4]), QUEUES[n % 4]) for n in range(12)
    ]
    ((name, known),) = leaks(rows)
    assert name == words
    number, part, char = known.spots[0]
    assert part.text[char:].startswith(rows[number]["completion"])


def labelled(count=200, seed=0):
    numbers = random.Random(seed)
    for at in range(count):
        yield at, numbers.choice(QUEUES), numbers.choice(QUEUES)


HEALTHY = {
    "options are listed": lambda at, label, _: pair(
        f"Queue, one of: billing, shipping, refund, other. Mail {at}", label
    ),
    "options begin with a colon": lambda at, label, _: pair(
        f"Labels: billing, shipping, refund, other\nText: mail {at}", label
    ),
    "examples are shown": lambda at, label, _: pair(
        f"Text: a Label: billing\nText: b Label: refund\nText: c Label: shipping\n"
        f"Text: d Label: other\nText: mail {at} Label:",
        label,
    ),
    "one example each": lambda at, label, other: pair(
        f"Text: a Label: {other}\nText: mail {at} Label:", label
    ),
    "another value follows the same words": lambda at, label, _: pair(
        f"Mail {at}. was: {label} Then queue was: none",
        label,
    ),
    "the answer ends the prompt": lambda at, label, _: pair(
        f"Billing, shipping, refund or other? Say it as I do. Mail {at}: {label}", label
    ),
    "the last example has the answer": lambda at, label, other: pair(
        f"Is it {label} or {other}? Text: a Label: {other}\nMail {at} Label:", label
    ),
    "an answer is copied out": lambda at, _, __: pair(
        f"Name: John{at} Smith, Age: 5. What is the name?", f"John{at} Smith"
    ),
    "a word of the text": lambda at, label, _: pair(
        f"The {label} of order {at} went wrong. About what is it?", label
    ),
    "yes and no": lambda at, label, other: pair(
        f"Answer yes or no: is {label} {other}? Say: yes/no {at}",
        "yes" if label == other else "no",
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_is_silent_where_the_answer_stands_in_the_prompt_by_design(name):
    assert leaks(HEALTHY[name](*each) for each in labelled()) == []


def test_is_silent_on_one_label_for_nearly_all():
    rows = [
        pair(f"Kind: spam? mail {at}", "spam" if at % 20 else "ham")
        for at in range(200)
    ]
    assert leaks(rows) == []


def test_is_silent_on_an_example_that_is_mostly_of_the_common_label():
    numbers = random.Random(0)
    labels = [numbers.choice(["ham"] * 9 + ["spam"]) for _ in range(400)]
    rows = [
        pair(f"Kind: {labels[at - 1]}. Now mail {at}", label)
        for at, label in enumerate(labels)
    ]
    assert leaks(rows) == []


def test_a_leak_is_found_among_rows_without_one():
    rows = [HEALTHY["options are listed"](*each) for each in labelled()]
    rows += [pair(f"mail {at} queue={label}", label) for at, label, _ in labelled()]
    ((words, known),) = leaks(rows)
    assert words == "queue="
    assert known.hits >= 195


def test_prompts_that_end_with_their_answer_are_found_among_others():
    rows = []
    for at, label, _ in labelled():
        asked = f"Mail {at}: billing, shipping, refund or other?\nAnswer:"
        rows.append(pair(asked if at % 3 else f"{asked} {label}", f" {label}"))
    ((words, known),) = leaks(rows)
    assert (words, known.hits, known.rows) == ("Answer: ", 67, 67)
