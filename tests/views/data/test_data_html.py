"""A dataset as a page."""

from dataclasses import replace

from ftlab.views.data.data_html import SHOWN, data_html
from tests.views.data.scans import HEALTHY, HIDDEN, SCAN


def test_every_word_of_the_data_is_escaped():
    hostile = replace(HIDDEN, message="<script>", cause="<script>", fix="<script>")
    page = data_html(
        replace(SCAN, name="<script>", issues=(hostile,), not_checked=("<script>",))
    )
    assert "<script>" not in page
    assert "<b>0</b>" not in page
    assert "&lt;b&gt;0&lt;/b&gt;" in page


def test_the_worst_is_unfolded_and_the_rest_can_be():
    page = data_html(SCAN)
    assert page.count("<details") == 2
    assert page.count("open><summary>") == 1
    assert page.count("U+200B") == SHOWN
    assert "and 20 more rows" in page
    assert page.count("<div") == page.count("</div>")


def test_lengths_are_bars_with_their_numbers():
    page = data_html(HEALTHY)
    assert page.count("<i title=") == 40
    assert "20 rows, 0 to 2 tokens" in page
    assert "#d55e00" in page
