"""A base that was taught, and the adapter on it, made once for all tests."""

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.deployment.deployed import base, loaded, tuned
from tests.servers import lesson

QUICK = {
    "test_saved_files": {
        "test_the_folder_and_base_of_the_training_hold",
        "test_a_head_that_was_not_saved",
        "test_rslora_that_is_lost",
    },
    "test_merged_files": {"test_another_end", "test_a_head_that_is_tied_again"},
    "test_four_bits": {"test_without_an_adapter_nobody_can_tell"},
}
"""What the first ring runs of the files that load and compare models."""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent not in item.path.parents:
            continue
        item.add_marker(pytest.mark.xdist_group("deployment"))
        quick = QUICK.get(item.path.stem)
        name = getattr(item, "originalname", "")
        if quick is not None and name and name not in quick:
            item.add_marker(pytest.mark.slow)


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
