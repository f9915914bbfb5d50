"""Rows of classic tasks: questions about a text, words with tags, summaries."""

from typing import Any

from ftlab.faults.rows import Writer

ROWS = 120


def asked_about(count: int = ROWS) -> list[dict[str, Any]]:
    """Write questions about a text with the places of their answers; a third has none.

    Three questions are asked about each text.
    """
    writer, rows, context = Writer(), [], ""
    for at in range(count):
        if at % 3 == 0:
            context = writer.text(3, 5)
        sentence = context.split(". ")[at % 3]
        number = sentence.removesuffix(".").split()[-2]
        start = context.index(number)
        question = f"How often is it so: {' '.join(sentence.split()[:-2])}?"
        found = {"text": [number], "answer_start": [start]}
        none: dict[str, list[Any]] = {"text": [], "answer_start": []}
        answers = none if at % 3 == 2 else found
        rows.append({"context": context, "question": question, "answers": answers})
    return rows


def tagged(count: int = ROWS) -> list[dict[str, Any]]:
    """Write sentences word by word, with a tag for each word."""
    writer, rows = Writer(), []
    for _ in range(count):
        words = writer.sentence().split()
        tags = [int(word.isdigit()) for word in words]
        rows.append({"tokens": words, "ner_tags": tags})
    return rows


def named(count: int = ROWS, first: str = "B-PER") -> list[dict[str, Any]]:
    """Write sentences of which two words are a name, with tags for each word."""
    rows = tagged(count)
    for row in rows:
        others = len(row["tokens"]) - 2
        row["ner_tags"] = [first, "I-PER", *["O"] * others]
    return rows


def classified(count: int = ROWS) -> list[dict[str, Any]]:
    """Write texts with a place for each of four classes."""
    writer, rows = Writer(), []
    for _ in range(count):
        labels = [int(writer.number(3) == 1) for _ in range(4)]
        rows.append({"text": writer.text(), "labels": labels})
    return rows


def translated(count: int = ROWS) -> list[dict[str, str]]:
    """Write sentences in one language, and in one that reads each word backwards."""
    writer, rows = Writer(), []
    for _ in range(count):
        text = writer.text()
        other = " ".join(word[::-1] for word in text.rstrip(".").split())
        rows.append({"en": text, "eo": f"{other}."})
    return rows


def summaries(count: int = ROWS) -> list[dict[str, str]]:
    """Write documents, and their first sentence as a summary."""
    writer, rows = Writer(), []
    for _ in range(count):
        document = writer.text(4, 6)
        summary = document.partition(". ")[0] + "."
        rows.append({"document": document, "summary": summary})
    return rows
