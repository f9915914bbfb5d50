"""Which libraries are older than what a test is about."""

from importlib.metadata import version

from packaging.version import Version


def older_than(package: str, wanted: str) -> bool:
    """Tell whether the installed ``package`` comes before version ``wanted``."""
    return Version(version(package)) < Version(wanted)
