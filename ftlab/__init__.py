"""The Jupyter-native interactive debugger for fine-tuning language models."""

from ftlab._version import __version__ as __version__
