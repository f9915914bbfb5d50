"""A dataset in words."""

from dataclasses import replace

from ftlab.views.data.data_words import data_words
from tests.views.data.scans import HEALTHY, LENGTHS, SCAN

TEXT = """\
Data: rows.jsonl, 1,000 rows (messages 990, text 10): 1 warning, 1 note
Lengths in tokens: half up to 50, 95 % up to 95, longest 100; 50,500 in all; \
max_length 80 cuts 200 rows and 2,100 tokens; \
counted to within 2 of the rendered template
Near duplicates: 999 rows compared, 1 of 4 candidates are similar (Jaccard 0.8)

WARNING DAT063 invisible-character
  what   characters that nobody sees: 40 of 1,000 rows (4 %)
  why    Copied from <pages>.
  do     Take them out.
  where  line 1, text, character 3: U+200B: '<b>0</b> $x$'
  where  line 2, text, character 3: U+200B: '<b>1</b> $x$'
  where  line 3, text, character 3: U+200B: '<b>2</b> $x$'
         and 37 more rows

INFO DAT061 duplicate-row
  what   exactly what an earlier row says: 1 of 1,000 rows (0.1 %)
  why    Joined twice.
  do     Leave them out.
  where  line 8: the same as line 2

Not checked: 1 thing
  rows of the evaluation data: pass it"""


def test_the_text_holds_all_that_is_known_and_no_times():
    assert data_words(SCAN) == TEXT


def test_healthy_rows_are_said_in_two_lines():
    unlimited = replace(LENGTHS, limit=0, error=0)
    assert data_words(replace(HEALTHY, lengths=unlimited)) == (
        "Data: rows.jsonl, 1,000 rows (messages 990, text 10): nothing found\n"
        "Lengths in tokens: half up to 50, 95 % up to 95, longest 100; 50,500 in all"
    )


def test_a_limit_that_cuts_nothing_and_a_stop_are_said():
    wide = replace(HEALTHY, lengths=replace(LENGTHS, limit=100), complete=False)
    first, second = data_words(wide).splitlines()
    assert first.endswith("; stopped before the end: nothing found")
    assert "; max_length 100 cuts nothing;" in second
