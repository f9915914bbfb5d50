"""Lines of pages in several texts, and lines that other texts share."""

from ftlab.probes.data.across.page_frames import EACH, KNOWN, PageFrames
from ftlab.probes.data.across.reports import report_page_frames
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.scanned import rows_with, scanned

NOTICE = "We use cookies on this site. Accept all | Settings"


def found(texts, **more):
    frames = PageFrames()
    for at, text in enumerate(texts):
        frames.look(at, parts_of({"text": text, **more}))
    rows = [frame.rows.numbers().tolist() for frame in frames.found()]
    return sorted({row for each in rows for row in each})


def texts(count, form, others=10):
    plain = [f"It is text {at}\nof two lines." for at in range(others)]
    return plain + [form.format(at) for at in range(count)]


def test_a_notice_of_several_texts_is_found():
    assert found(texts(5, NOTICE + "\n\nIt is text {0}.")) == [10, 11, 12, 13, 14]


def test_a_notice_of_fewer_is_not():
    assert found(texts(4, NOTICE + "\n\nIt is text {0}.")) == []


def test_a_notice_within_a_long_text_is_not():
    around = "\n".join(f"Line {{0}} {at} of it" for at in range(5))
    assert found(texts(9, f"{around}\n{NOTICE}\n{around}")) == []


def test_a_line_that_no_page_has_is_not():
    assert found(texts(20, "The river of the town\n\nIt is text {0}.")) == []


def test_texts_with_labels_may_be_told_apart_by_it():
    assert found(texts(9, NOTICE + "\n\nIt is text {0}."), label=1) == []


def test_pages_of_a_number_are_found_within_a_text():
    form = "It begins.\n\nA guide\nPage {0} of 312\n\nIt ends at {0}."
    assert found(texts(10, form)) == list(range(10, 20))
    assert found(texts(9, form)) == []


def test_pages_beside_one_line_are_found():
    form = "It begins.\n\n{1}\nPage {0}\n\nIt ends at {0}."
    title = "A guide to the river"
    assert found(texts(12, form.replace("{1}", title))) == list(range(10, 22))
    assert found(texts(12, form.replace("{1}", "A guide to the place {0}"))) == []
    assert found(texts(12, form.replace("{1}", "Panel"))) == []
    assert found(texts(12, form.replace("{1}", "Part 1 of the story"))) == []


def test_one_page_of_many_texts_is_no_number_of_a_page():
    assert found(texts(20, "It is text {0}.\nPage 3 of 9\nIt ends.")) == []


def test_the_first_of_many_rows_are_remembered_and_the_others_are_drawn():
    many = texts(400, NOTICE + "\n\nIt is text {0}.", others=EACH)
    assert len(found(many)) > 370
    frames = PageFrames()
    for at in range(3 * KNOWN):
        text = f"It is the line {at}\nand it has another {at}"
        frames.look(at * 8, parts_of({"text": text}))
    assert len(frames._seen) <= KNOWN + 8


def test_the_line_is_shown_where_it_stands():
    rows = [{"text": text} for text in texts(5, "It is text {0}.\n" + NOTICE)]
    scan = scanned(rows)
    report_page_frames(scan)
    assert rows_with(scan, "page-around-text") == [10, 11, 12, 13, 14]
    first = scan.findings.spots["page-around-text"][0]
    assert (first.char, first.excerpt) == (14, NOTICE)
    assert first.says == "as 5 texts have it"
