"""Scoring the rules on the fault gallery.

`record` runs a case in memory, `grade` compares what was found with what the gallery
expects, `board` adds it up and `text` says it in words.
"""
