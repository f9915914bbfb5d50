"""Templates are rendered as transformers does, and none of them harms the kernel."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from ftlab.probes.templates.worker import Chat, renderer
from ftlab.records.rendering import RenderedText
from tests.probes.templates.reading import QUESTION, refusal
from tests.probes.templates.styles import ALL, MARKED, assistant, user

FORMS_NEED = {
    "lists": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}],
}


@pytest.mark.parametrize("name", ALL)
def test_a_rendering_is_that_of_transformers(name):
    messages = FORMS_NEED.get(name, [user("Why? ä😀"), assistant("So.")])
    tool = {"type": "function", "function": {"name": "f"}}
    given = {"bos_token": "<s>", "eos_token": "</s>"}
    for prompt in (False, True):
        (mine,) = renderer().render(
            ALL[name],
            [messages],
            tools=[tool],
            add_generation_prompt=prompt,
            variables=given,
        )
        theirs, marks = render_jinja_template(
            [messages],
            chat_template=ALL[name],
            tools=[tool],
            add_generation_prompt=prompt,
            return_assistant_tokens_mask="generation %" in ALL[name],
            **given,
        )
        assert mine.text == theirs[0]
        assert [list(map(list, mine.generation))] == [
            [list(pair) for pair in each] for each in marks or [[]]
        ]


@pytest.mark.parametrize("template", [None, 3, b"{{ 1 }}", ["{{ 1 }}"]])
def test_what_is_no_text_is_no_template(template, strict):
    assert refusal(strict.render(template, [QUESTION])).kind == "input"


def test_words_name_the_line_and_what_was_raised(strict):
    assert "line 2" in refusal(strict.render("\n{% if %}", [QUESTION])).words
    raised = refusal(strict.render("{{ raise_exception('no tools') }}", [QUESTION]))
    assert raised.words == 'raised "no tools"'


def test_each_conversation_is_refused_for_itself(strict):
    template = "{% if messages | length > 1 %}{{ raise_exception('two') }}{% endif %}ok"
    one, two, three = strict.render(template, [QUESTION, QUESTION * 2, QUESTION])
    assert (one, three) == (RenderedText("ok"), RenderedText("ok"))
    assert two.kind == "raised"


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"raw", "messages[0].content is a bytes"),
        ([{"type": "image", "image": object()}], "messages[0].content[0].image"),
        ({1: "a"}, "has the key 1"),
        (np.zeros(2), "messages[0].content is a ndarray"),
    ],
)
def test_what_is_not_plain_is_refused_by_its_place(content, named, strict):
    found = refusal(strict.render(MARKED, [[user(content)]]))
    assert found.kind == "input"
    assert named in found.words


def test_content_that_holds_itself_is_refused(strict):
    endless: list = []
    endless.append(endless)
    assert refusal(strict.render(MARKED, [[user(endless)]])).kind == "input"


def test_lone_surrogates_and_numbers_of_numpy_arrive(strict):
    halves = "\ud83d\ude00 and \ud800"
    (found,) = strict.render("{{ messages[0].content }}", [[user(halves)]])
    assert found.text == halves
    (found,) = strict.render("{{ messages[0].content }}", [[user(np.int64(7))]])
    assert found.text == "7"


def test_functions_are_described_as_transformers_does(strict):
    def weather(place: str):
        """Tell the weather.

        Args:
            place: Where.
        """

    (found,) = strict.render(
        "{{ tools[0].function.description }}", [QUESTION], tools=[weather]
    )
    assert found.text == "Tell the weather."
    assert (
        "described"
        in refusal(strict.render(MARKED, [QUESTION], tools=[lambda x: x])).words
    )


def test_documents_and_the_clock_are_handed_over(strict):
    from datetime import datetime

    chat = Chat(QUESTION, documents=[{"title": "T", "text": "x"}])
    template = "{{ documents[0].title }} {{ strftime_now('%Y-%m-%d') }}"
    (found,) = strict.render_all(template, [chat], datetime(2031, 2, 3))
    assert found.text == "T 2031-02-03"
    (found,) = strict.render_all(template, [chat])
    assert found.text != "T 2031-02-03"


def test_an_interrupt_ends_the_process_and_passes_through(strict, monkeypatch):
    strict.render("ok", [QUESTION])
    worker = strict._worker

    def interrupted(limits):
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        strict.render("late", [QUESTION])
    assert not worker.alive
    (found,) = strict.render("ok", [QUESTION])
    assert found.text == "ok"


FORKED = """
import os
from ftlab.probes.templates.worker import renderer
talk = [{"role": "user", "content": "x"}]
renderer().render("ok", [talk])
pid = os.fork()
(found,) = renderer().render("{{ messages[0].content }}", [talk] )
assert found.text == "x"
if not pid:
    renderer().close()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
(found,) = renderer().render("still", [talk])
assert found.text == "still"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_of_the_kernel_renders_by_itself():
    done = subprocess.run([sys.executable, "-c", FORKED], check=False, timeout=60)
    assert done.returncode == 0


def test_many_threads_share_one_process(strict):
    found = {}

    def render(number):
        talk = [user(f"talk {number}")]
        found[number] = strict.render("{{ messages[0].content }}", [talk])[0].text

    threads = [threading.Thread(target=render, args=(n,)) for n in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {n: f"talk {n}" for n in range(8)}
