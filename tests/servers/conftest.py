"""Fixtures of tests that ask real model servers."""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.servers import lesson
from tests.servers.kinds import KINDS


@dataclass(frozen=True)
class Learnt:
    """The model in hand, its tokenizer, and the folder that holds both."""

    model: Any
    tokens: Any
    folder: Path


@pytest.fixture(scope="session")
def learnt(tmp_path_factory):
    tokens = lesson.tokenizer()
    model = lesson.model(tokens)
    folder = tmp_path_factory.mktemp("learnt") / "model"
    return Learnt(model, tokens, lesson.save(folder, model, tokens))


@pytest.fixture(scope="session")
def tuned(learnt):
    """The model in hand with an adapter that has learnt other answers."""
    return lesson.adapter(copy.deepcopy(learnt.model), learnt.tokens)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.xdist_group(f"server-{name}"))
        for name in KINDS
    ],
)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def healthy(kind, learnt, tmp_path_factory):
    """A server of each kind that serves the model in hand, for all tests of a file."""
    with KINDS[kind].serve(learnt.folder, tmp_path_factory.mktemp(kind)) as server:
        yield server
