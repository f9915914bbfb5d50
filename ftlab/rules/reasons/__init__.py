"""Why something is so, as far as a run proves it: causes that rules tell apart."""
