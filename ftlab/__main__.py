"""``python -m ftlab``: the command line."""

from ftlab.cli import main

if __name__ == "__main__":
    main()
