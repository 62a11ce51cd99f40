"""How much memory is free on this machine."""

from __future__ import annotations

from pathlib import Path


def available_memory() -> int | None:
    """Return the bytes available without swapping; None if the system does not report them."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None
