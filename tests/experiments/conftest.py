"""What of the experiments' tests the first ring runs."""

from collections import Counter
from pathlib import Path

import pytest

FIRST = 2
"""Cases of a parametrised test that the first ring runs; `make test-all` runs all."""
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    seen = Counter()
    for item in items:
        if HERE in item.path.parents and hasattr(item, "originalname"):
            seen[item.path, item.originalname] += 1
            if seen[item.path, item.originalname] > FIRST:
                item.add_marker(pytest.mark.slow)
