"""Write a lock file from what is installed in the environment that runs this.

    python scripts/lock.py GROUP... [--less LOCK] > requirements/NAME.txt
    python scripts/lock.py GROUP... --report REPORT > requirements/NAME.txt

Reads pyproject.toml, follows the run-time dependencies, all extras and the named
dependency groups through the installed packages, and gives each one its exact version
and the packages that asked for it. What is installed but asked for by nobody is left
out; so is what the lock file after ``--less`` already holds.

With ``--report``, what pip said it would install for the groups alone, without ftlab,
takes the place of what is installed: a server has to be compiled to be installed.
"""

import argparse
import json
import tomllib
from collections import defaultdict
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
NOT_LOCKED = {"ftlab", "pip", "setuptools"}

Look = Callable[[str], tuple[str, list[str]]]
"""From a package's name to its version and what it requires."""


def installed(name: str) -> tuple[str, list[str]]:
    """Look at a package of this environment."""
    found = distribution(name)
    return found.version, found.requires or []


def reported(path: Path) -> Look:
    """Look into a report of ``pip install --dry-run --ignore-installed --report``."""
    items = [item["metadata"] for item in json.loads(path.read_text())["install"]]
    packages = {
        canonicalize_name(item["name"]): (
            item["version"],
            item.get("requires_dist", []),
        )
        for item in items
    }
    return packages.__getitem__


def requested(groups: list[str], alone: bool) -> list[tuple[str, Requirement]]:
    """Read what the groups and the project ask for, with the place that asks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    wanted = {name: settings["dependency-groups"][name] for name in groups}
    if not alone:
        extras = project["optional-dependencies"].items()
        wanted |= {"ftlab": project["dependencies"]}
        wanted |= {f"ftlab[{name}]": texts for name, texts in extras}
    return [(by, Requirement(text)) for by, texts in wanted.items() for text in texts]


def closure(queue: list[tuple[str, Requirement]], look: Look) -> dict[str, set[str]]:
    """Follow requirements through the packages: name -> who asks for it."""
    asked_by: dict[str, set[str]] = defaultdict(set)
    followed: set[tuple[str, str]] = set()
    while queue:
        by, requirement = queue.pop()
        name = canonicalize_name(requirement.name)
        asked_by[name].add(by)
        for extra in ("", *requirement.extras):
            if (name, extra) in followed:
                continue
            followed.add((name, extra))
            for text in look(name)[1]:
                needed = Requirement(text)
                marker = needed.marker
                if marker is None or marker.evaluate({"extra": extra}):
                    queue.append((name, needed))
    return asked_by


def main() -> None:
    """Print the lock file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="+", help="of pyproject.toml")
    parser.add_argument("--less", type=Path, help="leave out what this lock holds")
    parser.add_argument("--report", type=Path, help="of pip, instead of what is here")
    arguments = parser.parse_args()
    held = arguments.less.read_text().splitlines() if arguments.less else []
    groups = ", ".join(arguments.groups)
    alone = arguments.report is not None
    look = reported(arguments.report) if alone else installed
    needing = f"{groups} needs" if alone else f"ftlab and its {groups} tools need"
    lines = [
        f"# Everything that {needing}, exactly.",
        "# Written by scripts/lock.py (`make lock`), resolved for Python 3.11.",
    ]
    asked_by = closure(requested(arguments.groups, alone), look)
    for name in [] if alone else NOT_LOCKED:
        asked_by.pop(name, None)
    for name, by in sorted(asked_by.items()):
        # The local part (+cpu) says where a build came from; every build will do.
        version = look(name)[0].split("+")[0]
        line = f"{name}=={version}  # {', '.join(sorted(by))}"
        if line.split(" ")[0] not in {text.split(" ")[0] for text in held}:
            lines.append(line)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
