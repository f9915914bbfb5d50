"""Where `scripts/servers.sh` put what each server needs."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def environment(name: str) -> Path:
    """Return an environment, or skip the test and say why there is none."""
    folder = ROOT / f".venv-serve-{name}"
    failed = folder / "failed"
    if failed.exists():
        pytest.skip(f"{folder.name} could not be made: {failed.read_text().strip()}")
    if not (folder / ".set-up").exists():
        pytest.skip(f"{folder.name} is missing; `make test-servers` makes it")
    return folder
