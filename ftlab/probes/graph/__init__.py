"""The autograd graph: who is in it, who cuts it, and where a NaN comes from."""
