"""A base that was taught, and the adapter on it, made once for all tests."""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.deployment.deployed import base, loaded, tuned
from tests.servers import lesson


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("deployment"))


@dataclass
class Home:
    """What deployments begin with."""

    tokens: Any
    base: Path
    adapter: Any

    def live(self, **settings: Any) -> Any:
        """Return a fine-tuned model: the common one, or another with ``settings``."""
        if not settings:
            return copy.deepcopy(self.adapter)
        return tuned(loaded(self.base), self.tokens, **settings)


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    tokens = lesson.tokenizer()
    folder = base(tmp_path_factory.mktemp("home") / "base", tokens)
    return Home(tokens, folder, tuned(loaded(folder), tokens))
