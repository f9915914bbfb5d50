"""The process that renders: limits, ends, and what it is told."""

import subprocess
import sys
import threading
import time

import psutil
import pytest

from ftlab.probes.templates.worker import Renderer
from ftlab.records.rendering import RenderedText
from tests.probes.templates.reading import QUESTION, refusal
from tests.probes.templates.styles import MARKED, user

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


def test_what_came_before_a_stop_is_kept(strict):
    template = (
        "{% if messages[0].content == 'loop' %}{% for a in range(99999) %}"
        "{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}fine"
    )
    talks = [QUESTION, [user("loop")], QUESTION]
    first, second, third = strict.render(template, talks)
    assert first == RenderedText("fine")
    assert second.kind == third.kind == "time"


def test_starting_waits_for_nothing_and_closing_leaves_nothing():
    me = psutil.Process()
    before, files = set(me.children()), me.num_fds() if hasattr(me, "num_fds") else 0
    threads = threading.active_count()
    one = Renderer()
    begun = time.monotonic()
    one.start()
    started = time.monotonic() - begun
    (found,) = one.render("ok", [QUESTION])
    assert found.text == "ok"
    assert started < (time.monotonic() - begun) / 2  # the new process imports jinja2
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
