"""The quick part of the fault campaign; ``make test-faults`` runs all of it."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tabsoda.routing.finished_draws import FinishedDraws

ROOT = Path(__file__).resolve().parents[1]
CAMPAIGN = ROOT / "benchmarks" / "faults" / "campaign.py"


@pytest.mark.skipif(sys.platform != "linux", reason="the campaign forks, and reads /proc")
def test_the_quick_campaign_finds_no_failure(tmp_path):
    done = subprocess.run(
        [sys.executable, CAMPAIGN, "--quick", "--output", tmp_path / "found.json"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["failures"] == 0
    # A campaign that tries nothing finds nothing.
    assert all(group["tries"] for group in found["groups"])
    assert found["tries"] > 60


def test_the_page_has_the_figures_of_the_campaign():
    found = json.loads((CAMPAIGN.parent / "results.json").read_text())
    page = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    assert f"{found['tries']:,} tries, {found['failures']:,} failures" in " ".join(page.split())
    for group in found["groups"]:
        row = f"| {group['group']} | {group['tries']:,} | {len(group['failures']):,} |"
        assert row in page


@pytest.mark.parametrize("place", [0, 40, 130, -1])
def test_a_draw_with_a_flipped_bit_is_computed_again(place, tmp_path):
    values = np.arange(8.0)
    FinishedDraws(tmp_path, "a")("draw 1", lambda: values)
    path = next(tmp_path.iterdir())
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    again = FinishedDraws(tmp_path, "a")
    np.testing.assert_array_equal(again("draw 1", lambda: values), values)
    assert again.found == []
    # It was written again, whole.
    third = FinishedDraws(tmp_path, "a")
    third("draw 1", lambda: np.zeros(8))
    assert third.found == ["draw 1"]
