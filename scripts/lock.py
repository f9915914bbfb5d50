"""Write a lock file from what is installed in the environment that runs this.

    python scripts/lock.py GROUP... [--less LOCK] > requirements/NAME.txt

Reads pyproject.toml, follows the run-time dependencies, all extras and the named
dependency groups through the installed packages, and gives each one its exact version
and the packages that asked for it. What is installed but asked for by nobody is left
out; so is what the lock file after ``--less`` already holds.
"""

import argparse
import tomllib
from collections import defaultdict
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
NOT_LOCKED = {"ftlab", "pip", "setuptools"}


def requested(groups: list[str]) -> list[tuple[str, Requirement]]:
    """Read what the project itself asks for, with the place that asks."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    wanted = {
        "ftlab": project["dependencies"],
        **{f"ftlab[{k}]": v for k, v in project["optional-dependencies"].items()},
        **{name: settings["dependency-groups"][name] for name in groups},
    }
    return [(by, Requirement(text)) for by, texts in wanted.items() for text in texts]


def closure(queue: list[tuple[str, Requirement]]) -> dict[str, set[str]]:
    """Follow requirements through the installed packages: name -> who asks for it."""
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
            for text in distribution(name).requires or ():
                needed = Requirement(text)
                marker = needed.marker
                if marker is None or marker.evaluate({"extra": extra}):
                    queue.append((name, needed))
    return {name: by for name, by in asked_by.items() if name not in NOT_LOCKED}


def main() -> None:
    """Print the lock file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="+", help="of pyproject.toml")
    parser.add_argument("--less", type=Path, help="leave out what this lock holds")
    arguments = parser.parse_args()
    held = arguments.less.read_text().splitlines() if arguments.less else []
    groups = ", ".join(arguments.groups)
    lines = [
        f"# Everything that ftlab and its {groups} tools need, exactly.",
        "# Written by scripts/lock.py (`make lock`), resolved for Python 3.11.",
    ]
    asked_by = closure(requested(arguments.groups))
    for name, by in sorted(asked_by.items()):
        # The local part (+cpu) says where a build came from; every build will do.
        version = distribution(name).version.split("+")[0]
        line = f"{name}=={version}  # {', '.join(sorted(by))}"
        if line.split(" ")[0] not in {text.split(" ")[0] for text in held}:
            lines.append(line)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
