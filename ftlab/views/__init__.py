"""What a person sees: tables, figures, widgets and texts made from runs and batches.

One subject per file; `ftlab.views.view` says what a view is. Front ends are the ``.js``
and ``.css`` files beside their widget; `ftlab.views.front_end` reads them. Nothing here
touches a live model.
"""
