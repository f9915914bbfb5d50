"""The service that wrote the answers failed at times, and its messages were kept.

Fix: raise on an error, and ask again; leave these rows out.

Source: general; scripts that store what an exception says.
"""

from ftlab.faults.fault import Case, Fault
from ftlab.faults.rows import looked_at, one_in, pairs

MESSAGES = (
    "Error code: 429 - {'error': {'message': 'You exceeded your current quota.'}}",
    "openai.RateLimitError: Rate limit reached for requests",
    "HTTP 503 Service Unavailable",
    '{"error": {"message": "The engine is currently overloaded", "code": 503}}',
    "Request timed out.",
)
"""What services say."""


def build(fixed: bool) -> Case:
    """Keep what a service says when it fails."""
    rows, broken = pairs(), one_in(12)
    for at in broken if not fixed else ():
        rows[at]["completion"] = MESSAGES[at % len(MESSAGES)]
    return looked_at(rows, spots=[f"row {at} completion character 0" for at in broken])


FAULT = Fault(
    "failed-requests-kept",
    "the model tells of rate limits",
    code="DAT091",
    places=("data *",),
    builder=build,
    steps=0,
    evident=-1,
)
