"""Tensors that somebody keeps."""
