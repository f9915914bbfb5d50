"""How things look: one subject per file, from a summary to table, figure and widget.

Who calls whom: the session builds a view over a `ftlab.runlog` run; the view reads the
run, makes one summary of it, and draws that summary as a pandas table, a matplotlib
figure or a widget. A widget's front end is a plain ES module beside it. Nothing here
imports torch: a view shows a recorded run on a machine that never trained one.
"""
