"""How a model is made: shared, frozen, unregistered and hooked parts."""
