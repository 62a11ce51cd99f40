"""The run that made a result, for the manifest."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabsoda.survey import InputFile

if TYPE_CHECKING:
    from tabsoda.imputer import TabSODAImputer


@dataclass(frozen=True, eq=False)
class RunRecord:
    """The run that made a result.

    Attributes
    ----------
    options : dict
        Parameters of the imputer, the number of draws and how the file was read.
    files : dict of str to InputFile
        The files that were read, with their hashes.
    seconds : float
        Time taken by fitting and imputing.
    skipped_by_rules : int or None
        Cells that only rules mark as skips, not a code or a mask; None if unknown.
    imputer : TabSODAImputer or None
        The fitted imputer, saved with the result; None for a result read from a folder.
    """

    options: dict[str, Any] = field(default_factory=dict)
    files: dict[str, InputFile] = field(default_factory=dict)
    seconds: float = 0.0
    skipped_by_rules: int | None = None
    imputer: TabSODAImputer | None = None

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any]) -> RunRecord:
        """Return the record stored in the manifest of a saved result."""
        files = {
            name: InputFile(Path(one["file"]), one["sha256"])
            for name, one in manifest.get("inputs", {}).items()
        }
        by_rules = manifest.get("counts", {}).get("skipped_by_rules")
        return cls(manifest["options"], files, manifest["seconds"], by_rules)
