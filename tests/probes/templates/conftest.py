"""A renderer of little patience."""

import pytest

from ftlab.probes.templates.process import Limits
from ftlab.probes.templates.worker import Renderer


@pytest.fixture(scope="module")
def strict():
    """Render with little patience: templates that end do so in milliseconds."""
    one = Renderer(Limits(seconds=0.4, megabytes=64, characters=10_000))
    yield one
    one.close()
