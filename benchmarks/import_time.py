"""How long ``import ftlab`` and ``%load_ext ftlab`` take.

Each is measured in a new process beside a bare one, in turn, so that both meet the same
load; the median of the paired differences counts. ``import ftlab`` is compared with a
bare interpreter, ``%load_ext ftlab`` is timed inside an IPython shell that is ready.

    python benchmarks/import_time.py [--pairs 20]
"""

import argparse
import statistics
import subprocess
import sys
import time

BARE = "pass"
IMPORT = "import ftlab"
LOAD = """
import time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
start = time.perf_counter()
shell.run_line_magic("load_ext", "ftlab")
print(time.perf_counter() - start)
shell.magics_manager.magics["line"]["ftlab"]  # or it was not loaded at all
"""
LIMITS = {"import ftlab": 0.100, "%load_ext ftlab": 0.300}
"""Seconds that each may take."""


def run(program: str) -> tuple[float, str]:
    """Run a program in a new interpreter: wall seconds and what it printed."""
    start = time.perf_counter()
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, result.stdout


def measure(pairs: int) -> dict[str, list[float]]:
    """Give the seconds that each of `LIMITS` took, once per pair."""
    seconds: dict[str, list[float]] = {name: [] for name in LIMITS}
    for program in (BARE, IMPORT, LOAD):  # compiles what is not compiled yet
        run(program)
    for _ in range(pairs):
        bare, _ = run(BARE)
        imported, _ = run(IMPORT)
        _, loaded = run(LOAD)
        seconds["import ftlab"].append(imported - bare)
        seconds["%load_ext ftlab"].append(float(loaded))
    return seconds


def main() -> int:
    """Print the table; fail when a median is above its limit."""
    parser = argparse.ArgumentParser(description="Time the loading of ftlab.")
    parser.add_argument("--pairs", type=int, default=20)
    seconds = measure(parser.parse_args().pairs)
    print(f"{'':18} {'median':>8} {'quartiles':>15} {'limit':>7}   (ms)")
    failed = False
    for name, values in seconds.items():
        low, middle, high = statistics.quantiles(values, n=4)
        failed |= middle > LIMITS[name]
        print(
            f"{name:18} {middle * 1e3:8.1f} {low * 1e3:7.1f}{high * 1e3:8.1f} "
            f"{LIMITS[name] * 1e3:7.0f}"
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
