"""A server's process, from the first look at its port to its end."""

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

START, END, ANSWER = 180, 20, 120
"""Seconds that a server may take to start, to end, and for one answer."""


@dataclass(frozen=True)
class Server:
    """A server that answers at ``url``, which ends in /v1, for ``model``."""

    url: str
    model: str
    pid: int

    def ask(self, path: str, **body: Any) -> Any:
        """Post ``body`` for this server's model and read the answer."""
        return post(self.url + path, {"model": self.model, "temperature": 0} | body)

    def outside(self, path: str, **body: Any) -> Any:
        """Post to what lies beside /v1."""
        return post(self.url.removesuffix("/v1") + path, body)


def post(url: str, body: dict[str, Any]) -> Any:
    """Post JSON and read JSON; a refusal is raised with what the server said."""
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{error.code}: {error.read().decode()}") from error


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def started(
    command: list[Any], log: Path, ready: str, **variables: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, wait until it answers at ``ready``, and end it in any case."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    with log.open("wb") as told:
        process = subprocess.Popen(
            [str(part) for part in command],
            env=environment | {"OMP_NUM_THREADS": "1"} | variables,
            stdout=told,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=log.parent,
            start_new_session=True,  # its number is then also that of all it starts
            preexec_fn=_end_with_parent,
        )
    try:
        _wait(process, log, ready)
        yield process
    finally:
        _end(process)


def _end_with_parent() -> None:
    """Have Linux end the server where the tests are killed themselves."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _wait(process: subprocess.Popen[bytes], log: Path, ready: str) -> None:
    latest = time.monotonic() + START
    while process.poll() is None and time.monotonic() < latest:
        try:
            with urllib.request.urlopen(ready, timeout=5):
                return
        except OSError:  # nobody listens yet, or answers that it is loading
            time.sleep(0.1)
    state = "is not ready" if process.poll() is None else "ended"
    last = log.read_text(errors="replace")[-2000:]
    raise RuntimeError(f"{' '.join(map(str, process.args))} {state}:\n{last}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(END)
    with contextlib.suppress(ProcessLookupError):  # what it started and left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    latest = time.monotonic() + END
    while running(process.pid) and time.monotonic() < latest:
        time.sleep(0.05)


def running(group: int) -> list[int]:
    """List the processes of a group that have not ended."""
    found = []
    for each in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
            ended = each.status() == psutil.STATUS_ZOMBIE
            if not ended and os.getpgid(each.pid) == group:
                found.append(each.pid)
    return found
