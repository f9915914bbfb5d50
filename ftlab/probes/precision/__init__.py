"""Few bits: loss scaling, autocast, and what is lost in half precision."""
