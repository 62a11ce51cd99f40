"""The fault campaign: prints tries and failures of every group, and exits with 1 on a failure.

    python benchmarks/faults/campaign.py [--quick] [--times 3] [--seed 1] [--output results.json]

Deterministic for a seed, but for the moments of signals that are sent at random times.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from damaged_inputs import FORMATS, damaged_inputs
from damaged_states import damaged_checkpoints, damaged_results, damaged_texts, two_runs
from hostile_contents import HOSTILE, TARGETS, hostile_contents
from interruptions import (
    imputations_at_random_times,
    interrupted_exports,
    interrupted_files,
    interrupted_imputations,
    limited,
)
from outcomes import Outcomes
from surroundings import jumping_clock, shell_surroundings, unusual_sizes
from tries import attempt, load_libraries
from workers import worker_deaths
from workplace import Workplace

Group = Callable[[], "Outcomes | list[Outcomes]"]


def whole(work: Workplace, times: int, seed: int) -> Iterator[Group]:
    """Return the groups of the whole campaign."""
    yield lambda: interrupted_files(work, 2 * times, seed)
    yield lambda: interrupted_exports(work, times, seed, TARGETS)
    yield lambda: damaged_results(work, 12 * times, seed)
    yield lambda: damaged_texts(work, 24 * times, seed)
    yield lambda: shell_surroundings(work)
    yield lambda: jumping_clock(work)
    yield lambda: two_runs(work, 2 * times)
    yield lambda: damaged_checkpoints(work, 5 * times, seed)
    yield lambda: interrupted_imputations(work, 3 * times, seed)
    yield lambda: imputations_at_random_times(work, 6 * times, seed)
    yield lambda: limited(work, seed)
    yield lambda: worker_deaths(work, times)
    yield lambda: hostile_contents(work, n_places=min(times, 3))
    for ending in FORMATS:
        yield lambda ending=ending: _apart(25 * times, seed, ending)
    yield lambda: unusual_sizes(work, is_quick=False)


def quick(work: Workplace, seed: int) -> Iterator[Group]:
    """Return the groups that are part of the quick tests."""
    kinds = ("kill", "full")
    yield lambda: interrupted_files(work, 1, seed, kinds)
    yield lambda: interrupted_exports(work, 1, seed, ("csv",), kinds)
    yield lambda: damaged_results(work, 3, seed)
    yield lambda: damaged_texts(work, 4, seed)
    yield lambda: damaged_checkpoints(work, 1, seed)
    yield lambda: _apart(4, seed, "sav")
    yield lambda: _apart(4, seed, "parquet")
    yield lambda: hostile_contents(work, (next(iter(HOSTILE)),), n_places=1)


def _apart(n_copies: int, seed: int, ending: str) -> Outcomes:
    """Read damaged files of a format in one forked process, which must survive them all."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "found.json"

        def action() -> None:
            found = damaged_inputs(n_copies, seed, (ending,))[0]
            file.write_text(json.dumps(found.to_dict()), encoding="utf-8")

        code, text = attempt(action, timeout=3600)
        if code == 0:
            found = json.loads(file.read_text(encoding="utf-8"))
            return Outcomes(found["group"], found["tries"], found["failures"], found["notes"])
    return Outcomes(f"damaged .{ending} files", 1, [f"the process ended with {code}\n{text}"])


def run(groups: Iterator[Group], output: Path | None, facts: dict[str, object]) -> int:
    """Run groups one after the other; return the number of failures."""
    found: list[Outcomes] = []
    start = time.monotonic()
    for group in groups:
        results = group()
        for one in results if isinstance(results, list) else [results]:
            found.append(one)
            failed = len(one.failures)
            print(f"{one.tries:6,} tries {failed:4,} failures  {one.group}", flush=True)
            for text in (*one.failures[:3], *one.notes):
                print(f"        {text}", flush=True)
        if output is not None:
            content = facts | {
                "seconds": round(time.monotonic() - start),
                "tries": sum(one.tries for one in found),
                "failures": sum(len(one.failures) for one in found),
                "groups": [one.to_dict() for one in found],
            }
            output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    tries, failures = sum(one.tries for one in found), sum(len(one.failures) for one in found)
    print(f"{tries:6,} tries {failures:4,} failures  in all", flush=True)
    return failures


def main() -> None:
    """Run the campaign as the options say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the part that belongs to the tests")
    parser.add_argument("--times", type=int, default=1, help="this many times as many tries")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="a JSON file for counts and failures")
    options = parser.parse_args()
    if sys.platform != "linux":
        sys.exit("The campaign needs Linux: it forks, and reads /proc.")
    load_libraries()
    from tabsoda._version import __version__

    facts: dict[str, object] = {
        "tabsoda": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "seed": options.seed,
        "times": options.times,
        "part": "quick" if options.quick else "whole",
    }
    with tempfile.TemporaryDirectory() as place:
        work = Workplace(Path(place))
        groups = (
            quick(work, options.seed) if options.quick else whole(work, options.times, options.seed)
        )
        failures = run(groups, options.output, facts)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
