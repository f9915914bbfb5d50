"""What a report of the debugger gets wrong about a planted anomaly."""

from typing import Any

from benchmarks.anomalies.case import Expected


def differences(report: Any, expected: Expected) -> list[str]:
    """List where a `PauseReport` and the truth part; empty when it is exact."""
    if (report.state, report.reason) != ("paused", "anomaly"):
        return [f"did not stop at an anomaly: {report.headline()}"]
    forward = report.site.forward if report.site else None
    wrong = {
        "step": (report.step, expected.step),
        "micro-batch": (report.micro_batch, expected.micro_batch),
        "phase": (report.phase, expected.phase),
        "kind": (report.kind, expected.kind),
        "name": (report.name.strip("'"), expected.name),
        "module": (report.module, expected.module),
    }
    found = [f"{key}: {a!r}, not {b!r}" for key, (a, b) in wrong.items() if a != b]
    if report.op not in expected.op:
        found.append(f"op: {report.op}, not {' or '.join(sorted(expected.op))}")
    if expected.forward:
        made = forward.op if forward else "none"
        if made not in expected.forward:
            found.append(f"forward op: {made}, not {sorted(expected.forward)}")
    places = _places(forward if expected.forward else report.site)
    if not any(expected.line.is_at(place) for place in places):
        found.append(f"line: {places}, not {expected.line.text!r}")
    return found


def _places(site: Any) -> list[str]:
    if site is None:
        return []
    return [site.user_line, site.library_line]
