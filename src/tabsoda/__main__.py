"""``python -m tabsoda`` is the command ``tabsoda``."""

from tabsoda.cli.main import main

if __name__ == "__main__":
    main()
