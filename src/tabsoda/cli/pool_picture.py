"""The file that ``tabsoda pool`` and ``tabsoda sensitivity`` draw their picture to."""

from __future__ import annotations

from pathlib import Path

from tabsoda.cli.outputs import check_outputs
from tabsoda.errors import InputError


def check_picture(picture: Path | None, *, force: bool) -> None:
    """Raise unless a picture can be written to a file of this name.

    Examples
    --------
    >>> check_picture(Path("kilos.png"), force=False)
    Traceback (most recent call last):
    ...
    tabsoda.errors.InputError: The picture 'kilos.png' has an unknown extension. Found: .png. \
Expected: .svg. Write an SVG file; browsers, Word and LaTeX tools convert it.
    """
    if picture is None:
        return
    check_outputs([picture], [], force=force)
    if picture.suffix.lower() != ".svg":
        raise InputError(
            f"The picture '{picture}' has an unknown extension",
            found=picture.suffix or "no extension",
            expected=".svg",
            next_step="Write an SVG file; browsers, Word and LaTeX tools convert it",
        )
