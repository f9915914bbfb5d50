"""What can be known about a run: small frozen values, errors and settings.

Every floor above speaks in these types. None of them holds a live tensor, so a record
can be queued, written, compared and pickled without keeping a model alive.
"""
