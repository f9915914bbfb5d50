"""Templates are rendered as transformers does, and none of them harms the kernel."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from ftlab.probes.templates.process import Limits
from ftlab.probes.templates.worker import Chat, Renderer, renderer
from ftlab.records.template import Refusal, RenderedText
from tests.probes.templates.styles import ALL, MARKED, assistant, user

QUESTION = [user("Why?")]
FORMS_NEED = {
    "lists": [{"role": "user", "content": [{"type": "text", "text": "Why?"}]}],
}


@pytest.fixture(scope="module")
def strict():
    """Render with little patience: templates that end do so in milliseconds."""
    one = Renderer(Limits(seconds=0.4, megabytes=64, characters=10_000))
    yield one
    one.close()


def refusal(rendered) -> Refusal:
    (only,) = rendered
    assert isinstance(only, Refusal), only
    return only


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


HOSTILE = {
    "endless loops": (
        "time",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
        "{% endfor %}",
    ),
    "one endless call": (
        "time",
        "{% set n = messages | length + 9 %}{{ (n ** (n ** 8)) % 7 }}",
    ),
    "a huge text": ("memory", "{{ 'a' * 10 ** 10 }}"),
    "a text that doubles": (
        "memory",
        "{% set n = namespace(x='aaaaaaaa') %}{% for i in range(60) %}"
        "{% set n.x = n.x ~ n.x %}{% endfor %}",
    ),
    "a wide format": ("memory", "{{ '%9999999999d' % 1 }}"),
    "endless recursion": (
        "recursion",
        "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    ),
    "deep nesting": ("recursion", "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}"),
    "a huge range": ("forbidden", "{% for a in range(10 ** 9) %}{% endfor %}"),
    "classes": ("forbidden", "{{ ''.__class__.__mro__[1].__subclasses__() }}"),
    "globals of a function": ("forbidden", "{{ lipsum.__globals__['os'] }}"),
    "globals by a format": (
        "forbidden",
        "{{ '{0.__init__.__globals__}'.format(cycler) }}",
    ),
    "a changed list": ("forbidden", "{{ messages.append(1) }}"),
    "a file": ("failed", "{% include '/etc/passwd' %}"),
    "too much text": ("size", "{% for i in range(9000) %}{{ 'abc' }}{% endfor %}"),
    "a huge complaint": ("raised", "{{ raise_exception('x' * 10 ** 6) }}"),
    "bad syntax": ("syntax", "\n{% if %}"),
    "an unknown name": ("undefined", "{{ a.b.c }}"),
    "a huge template": ("size", "{{ 'a' }}" * 10**6),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_templates_are_stopped_and_the_next_rendering_works(kind, strict):
    expected, template = HOSTILE[kind]
    begun = time.monotonic()
    found = refusal(strict.render(template, [QUESTION]))
    assert found.kind == expected
    assert found.words
    assert len(found.words) < 400
    assert time.monotonic() - begun < 30
    (after,) = strict.render(MARKED, [QUESTION])
    assert isinstance(after, RenderedText)


@pytest.mark.parametrize("template", [None, 3, b"{{ 1 }}", ["{{ 1 }}"]])
def test_what_is_no_text_is_no_template(template, strict):
    assert refusal(strict.render(template, [QUESTION])).kind == "input"


def test_words_name_the_line_and_what_was_raised(strict):
    assert "line 2" in refusal(strict.render("\n{% if %}", [QUESTION])).words
    raised = refusal(strict.render("{{ raise_exception('no tools') }}", [QUESTION]))
    assert raised.words == 'raised "no tools"'


def test_what_came_before_a_stop_is_kept(strict):
    template = (
        "{% if messages[0].content == 'loop' %}{% for a in range(99999) %}"
        "{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}fine"
    )
    talks = [QUESTION, [user("loop")], QUESTION]
    first, second, third = strict.render(template, talks)
    assert first == RenderedText("fine")
    assert second.kind == third.kind == "time"


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


def test_starting_waits_for_nothing_and_closing_leaves_nothing():
    me = psutil.Process()
    before, files = set(me.children()), me.num_fds() if hasattr(me, "num_fds") else 0
    threads = threading.active_count()
    one = Renderer()
    begun = time.monotonic()
    one.start()
    assert time.monotonic() - begun < 0.5
    (found,) = one.render("ok", [QUESTION])
    assert found.text == "ok"
    assert len(set(me.children()) - before) == 1
    one.close()
    assert set(me.children()) == before
    assert threading.active_count() == threads
    if files:
        assert me.num_fds() == files


def test_a_killed_process_is_replaced(strict):
    me = psutil.Process()
    strict.render("ok", [QUESTION])
    child = strict._worker._process.pid
    psutil.Process(child).kill()
    psutil.wait_procs([psutil.Process(child)], timeout=5)
    (found,) = strict.render("ok", [QUESTION])
    assert found == RenderedText("ok")
    assert all(each.status() != psutil.STATUS_ZOMBIE for each in me.children())


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


def test_without_a_python_to_start_there_is_a_refusal(monkeypatch):
    monkeypatch.setattr(sys, "executable", None)
    one = Renderer()
    found = refusal(one.render("ok", [QUESTION]))
    assert found.kind == "worker"
    assert "could be started" in found.words


PARENT = """
import os, sys, time
from ftlab.probes.templates.worker import renderer
renderer().render("ok", [[{"role": "user", "content": "x"}]])
print(renderer()._worker._process.pid, flush=True)
if "fork" in sys.argv and not os.fork():
    time.sleep(60)  # holds the pipe of the process that it never started
    os._exit(0)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills and forks as POSIX does")
@pytest.mark.parametrize("how", ["plain", "fork"])
def test_it_ends_when_its_parent_is_killed(how):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, how],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        child = int(parent.stdout.readline())
        assert psutil.pid_exists(child)
        forks = psutil.Process(parent.pid).children()
        parent.kill()
        parent.wait()
        deadline = time.monotonic() + 10
        while _runs(child) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not _runs(child)
    finally:
        for each in forks:
            if each.is_running():
                each.kill()
        parent.kill()
        parent.wait()
        parent.stdout.close()


def _runs(pid) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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


def test_the_process_is_told_no_secrets(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "secret")
    one = Renderer()
    one.render("ok", [QUESTION])
    environment = psutil.Process(one._worker._process.pid).environ()
    one.close()
    assert "SOME_API_KEY" not in environment
    assert "PATH" in environment


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_process_can_open_nothing(strict):
    import resource

    strict.render("ok", [QUESTION])
    pid = strict._worker._process.pid
    for name in ("NOFILE", "FSIZE", "CORE"):
        assert resource.prlimit(pid, getattr(resource, f"RLIMIT_{name}")) == (0, 0)


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
