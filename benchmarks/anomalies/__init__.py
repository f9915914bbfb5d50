"""Planted numeric anomalies whose place of birth is known.

`case` says what a case is, `registry` lists them; the other files hold them by family.
`generator` plants more of them at random places.
"""
