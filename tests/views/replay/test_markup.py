import re
from dataclasses import replace

from ftlab.views.replay.markup import body_html, head_html
from ftlab.views.replay.replay import Replay
from tests.views.traced import deep_trace, op, small_trace, update_trace


def body(trace, at=None):
    return body_html(Replay(trace, at).summary)


def tree(text):
    return text.partition("ftlab-r-right")[0]


def cells(text):
    return re.findall(r'ftlab-p-range" style="([^"]*)"[^>]*>([^<]*)<', tree(text))


def test_all_words_of_a_log_are_escaped():
    trace = replace(small_trace(), headline="<script>x</script>")
    shown = head_html(Replay(trace).summary) + body(trace) + body(trace, 4)
    for evil in ("<script>x", "<b>.default", "<b>mul", "<i>float16", "<pad>", "x < y"):
        assert evil not in shown
    for harmless in ("&lt;script&gt;x", "aten.&lt;b&gt;.default", "&lt;i&gt;float16"):
        assert harmless in shown


def test_the_colours_of_the_tree_grow_from_normal_to_bad():
    styles = dict(
        reversed([(words, style) for style, words in cells(body(small_trace()))])
    )
    assert styles["1"] == styles["2"] == ""
    assert styles["4,000"].startswith("background:rgba(224,90,0,0.4")
    assert styles["Inf"].startswith("background:#e5004c")
    shown = {words: style for style, words in cells(body(small_trace(), 4))}
    assert shown["60,000 !"].startswith("background:#d63a00")


def test_a_phase_that_was_not_reached_has_no_column():
    assert "<th>backward</th>" not in body(small_trace())
    assert "<th>backward</th>" in body(small_trace(), 12)
    assert "<th>optimizer</th>" in body(update_trace())


def test_every_row_leads_to_its_worst_operation():
    shown = tree(body(deep_trace()))
    found = re.findall(r'<tr class="[^"]*" data-at="(\d+)"', shown)
    assert found == ["60", "61", "63", "71", "72"]


def test_what_led_here_ends_with_the_operation_and_leads_back():
    shown = body(small_trace())
    chain = shown.partition("ftlab-r-chain")[2].partition("</ol>")[0]
    found = re.findall(r"<li([^>]*)>", chain)
    assert found == ["", ' data-at="4"', ' class="ftlab-r-made"']


def test_source_and_tokens_stand_at_the_culprit_only():
    assert "ftlab-p-marked" in body(small_trace())
    assert "&lt;pad&gt;" in body(small_trace())
    assert "ftlab-p-marked" not in body(small_trace(), 4)


def test_zero_everywhere_is_pointed_out_among_operations():
    trace = replace(small_trace(), ops=(op(0, "a", 0.0, low=0.0),), culprit=-1)
    assert "0 everywhere" in body(trace)
    assert "background:#5a5a5a" in body(trace)
