"""The notebook edge: parse, call, show. The only package that imports IPython."""
