"""Disks so small that they are full at once."""

import shutil
import subprocess

import pytest


def disk_of(size):
    """Make a fixture that mounts a disk of this size at the test's folder."""

    @pytest.fixture
    def small_disk(tmp_path):
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(tmp_path)]
        can = shutil.which("mount")
        if can is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip(f"to mount a tmpfs of {size} needs root")
        try:
            yield tmp_path
        finally:
            subprocess.run(["umount", str(tmp_path)], check=True)

    return small_disk
