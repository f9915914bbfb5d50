import re
from dataclasses import replace

import pytest

from ftlab.replay.stops.report import PauseReport
from ftlab.views.pausing.pause_html import body_html, head_html
from ftlab.views.style import SPECIAL
from tests.views.panel_stop import REPORT, Controller


def plain(text):
    text = re.sub(r"<style>.*?</style>|<wbr>", "", text, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


@pytest.fixture
def body():
    return body_html(Controller())


def test_the_headline_comes_first_then_the_cause_then_what_to_do():
    words = plain(head_html(Controller()))
    places = [words.index(each) for each in ("Paused at step 12", "because", "do this")]
    assert places == sorted(places)
    assert places[0] == 0


def test_what_was_tried_stands_above_the_buttons_with_what_takes_it():
    where = replace(REPORT, trial="aten.div <b>3</b> in float32: gone: loss 2")
    text = head_html(Controller(where=where))
    assert "aten.div &lt;b&gt;3&lt;/b&gt; in float32" in text.replace("<wbr>", "")
    assert "tried aten.div" in plain(text)
    assert "do this resume as tried continues" in plain(text)


def test_a_trial_that_did_not_help_is_not_advised():
    where = replace(REPORT, trial="patch of aten.div 3: still non-finite")
    words = plain(head_html(Controller(where=where)))
    assert "tried patch of aten.div 3: still non-finite" in words
    assert "resume as tried" not in words


def test_paths_break_at_their_dots_and_numbers_do_not():
    where = replace(REPORT, name="layers.2.mlp.weight", cause="0.25 at a/b.py.")
    text = head_html(Controller(where=where))
    assert "layers.<wbr>2.<wbr>mlp.<wbr>weight" in text
    assert "0.25 at a/<wbr>b.<wbr>py.<" in text


def test_of_the_gradients_the_first_is_named():
    where = replace(REPORT, parameters=("a.weight", "b.weight", "c.weight"))
    words = plain(body_html(Controller(where=where)))
    assert "gradients non-finite in a.weight and 2 more" in words
    assert "b.weight" not in words


def test_a_run_that_has_failed_says_where_its_error_is():
    words = plain(head_html(Controller("failed", PauseReport("failed", step=3))))
    assert words.startswith("The run has failed, after 3 optimizer steps.")
    assert "do this wait() in a cell shows the error" in words


@pytest.mark.parametrize("kind", ["module", "state"])
def test_what_to_do_is_said_in_the_words_of_the_buttons(kind):
    where = replace(REPORT, kind=kind)
    (told,) = [text for word, text in where._rows() if word == "next"]
    words = plain(head_html(Controller(where=where)))
    assert ("fix the cause, go back, resume; or abort" in words) is (kind == "module")
    assert (told in words) is (kind == "state")


def test_a_stop_without_an_anomaly_still_says_what_to_do():
    where = PauseReport("paused", "step", step=3)
    assert "resume continues training" in plain(head_html(Controller(where=where)))


def test_nothing_of_the_run_is_markup(body):
    text = head_html(Controller(), "<u>refused</u>") + body
    for word in ("<script>", "<b>NaN</b>", "<b>x</b>", "<i>'", "<pad>", "<u>"):
        assert word not in text
    assert "&lt;script&gt;" in text
    assert "&lt;pad&gt;" in text
    assert "refused" in text


def test_only_the_marked_line_is_marked(body):
    (marked,) = re.findall(r'<span class="ftlab-p-marked">(.*?)</span>', body)
    assert "return &#x27;&lt;i&gt;&#x27; / x" in marked
    assert "▶" in marked


def test_tensors_run_from_the_first_to_the_output_and_grow_in_colour(body):
    rows = re.findall(r'<tr class="ftlab-p-(\w+)".*?style="(.*?)"', body)
    assert [role for role, _ in rows] == ["from", "input", "output"]
    (_, large), (_, ordinary), (_, bad) = rows
    assert large.startswith("background:rgba(224,90,0")
    assert ordinary == ""
    assert SPECIAL["non-finite"] in bad
    assert "batch &lt;b&gt;x&lt;/b&gt;" in body.replace("<wbr>", "")


def test_bad_tokens_carry_a_mark_beside_their_colour(body):
    assert re.findall(r'ftlab-bad" title="position (\d)">(.)', body) == [("0", "▼")]
    assert "and 7 more" in body


def test_the_histogram_has_a_bar_per_count_and_one_for_nan(body):
    bars = re.findall(r'<i title="(.*?)" style="height:(.*?)%', body)
    assert [tip for tip, _ in bars] == ["-1 to 0: 10", "0 to 2: 19", "NaN: 3"]
    assert [float(height) for _, height in bars] == [52.6, 100.0, 15.8]


def test_the_histogram_comes_last(body):
    order = ["your line", "stack", "tensors", "tokens", "histogram"]
    places = [plain(body).index(each) for each in order]
    assert places == sorted(places)


def test_what_a_stop_lacks_leaves_no_gap():
    controller = Controller(where=PauseReport("paused", "step", step=3))
    controller.source = controller.stack = controller.batch_text = ()
    controller.histogram = None
    assert plain(body_html(controller)) == ""


def test_while_training_runs_there_is_only_the_headline():
    assert body_html(Controller("running")) == ""
    assert plain(head_html(Controller("running"))) == "Training runs."
