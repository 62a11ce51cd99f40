"""The fault campaign: prints tries and failures of every group, and exits with 1 on a failure.

    python benchmarks/faults/campaign.py [--quick] [--times 3] [--seed 1] [--output results.json]

Deterministic for a seed, but for the moments of signals that are sent at random times. On a machine
that is needed for other work as well, run it in parts: ``--part 1/4`` to ``--part 4/4`` with the
same output. Groups in the output that are tried again are replaced; every group has its commit.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from damaged_forms import FORMS, damaged_forms
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
from permissions import read_only_folders
from small_disk import small_disk
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
    yield lambda: read_only_folders(work)
    yield small_disk
    yield lambda: jumping_clock(work)
    yield lambda: two_runs(work, 2 * times)
    yield lambda: damaged_checkpoints(work, 5 * times, seed)
    yield lambda: interrupted_imputations(work, 3 * times, seed)
    yield lambda: imputations_at_random_times(work, 6 * times, seed)
    yield lambda: limited(work, seed)
    yield lambda: worker_deaths(work, times)
    yield lambda: hostile_contents(work, n_places=min(times, 3))
    for ending in FORMATS:
        yield lambda ending=ending: _damaged(25 * times, seed, ending)
    for form in FORMS:
        yield lambda form=form: _damaged_form(25 * times, seed, form)
    yield lambda: unusual_sizes(work, is_quick=False)


def quick(work: Workplace, seed: int) -> Iterator[Group]:
    """Return the groups that are part of the quick tests."""
    kinds = ("kill", "full")
    yield lambda: interrupted_files(work, 1, seed, kinds)
    yield lambda: interrupted_exports(work, 1, seed, ("csv",), kinds)
    yield lambda: damaged_results(work, 3, seed)
    yield lambda: damaged_texts(work, 4, seed)
    yield lambda: damaged_checkpoints(work, 1, seed)
    yield lambda: _damaged(4, seed, "sav")
    yield lambda: _damaged(4, seed, "parquet")
    yield lambda: _damaged_form(4, seed, "Qualtrics")
    yield lambda: hostile_contents(work, (next(iter(HOSTILE)),), n_places=1)


def _damaged(n_copies: int, seed: int, ending: str) -> Outcomes:
    """Read damaged files of a format."""
    name = f"damaged .{ending} files"
    return _apart(name, lambda: damaged_inputs(n_copies, seed, (ending,))[0])


def _damaged_form(n_copies: int, seed: int, form: str) -> Outcomes:
    """Read damaged forms of a kind."""
    return _apart(f"damaged {form} files", lambda: damaged_forms(n_copies, seed, (form,))[0])


def _apart(name: str, group: Callable[[], Outcomes]) -> Outcomes:
    """Run a group in one forked process, which must survive all of it.

    It starts the threads of polars, with which the processes that later groups fork would hang.
    """
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "found.json"

        def action() -> None:
            file.write_text(json.dumps(group().to_dict()), encoding="utf-8")

        code, text = attempt(action, timeout=3600)
        if code == 0:
            found = json.loads(file.read_text(encoding="utf-8"))
            return Outcomes(found["group"], found["tries"], found["failures"], found["notes"])
    return Outcomes(name, 1, [f"the process ended with {code}\n{text}"])


def part_of(groups: Iterator[Group], part: str) -> Iterator[Group]:
    """Return the k-th of n parts of the groups, for a text "k/n"."""
    which, n_parts = map(int, part.split("/"))
    listed = list(groups)
    edges = [round(place * len(listed) / n_parts) for place in range(n_parts + 1)]
    return iter(listed[edges[which - 1] : edges[which]])


def commit() -> str:
    """Return the commit of the source; "changed" after it if files differ from it."""
    described = ("git", "describe", "--always", "--dirty=, changed", "--exclude=*")
    done = subprocess.run(described, capture_output=True, text=True, cwd=Path(__file__).parent)
    return done.stdout.strip() or "unknown"


def merged(
    before: list[dict[str, object]], found: list[dict[str, object]]
) -> list[dict[str, object]]:
    """Return groups of an earlier run with those that were tried again, which replace them."""
    again = {one["group"]: one for one in found}
    kept = [again.pop(one["group"], one) for one in before]
    return [*kept, *again.values()]


def run(groups: Iterator[Group], output: Path | None, facts: dict[str, object], part: str) -> int:
    """Run groups one after the other; return the number of failures."""
    found: list[Outcomes] = []
    before = []
    if output is not None and output.exists() and not part.startswith("1/"):
        before = json.loads(output.read_text(encoding="utf-8"))["groups"]
    source = commit()
    for group in groups:
        results = group()
        for one in results if isinstance(results, list) else [results]:
            found.append(one)
            failed = len(one.failures)
            print(f"{one.tries:6,} tries {failed:4,} failures  {one.group}", flush=True)
            for text in (*one.failures[:3], *one.notes):
                print(f"        {text}", flush=True)
        if output is not None:
            listed = merged(before, [one.to_dict() | {"commit": source} for one in found])
            content = facts | {
                "tries": sum(one["tries"] for one in listed),
                "failures": sum(len(one["failures"]) for one in listed),
                "groups": listed,
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
    parser.add_argument("--part", default="1/1", help="the k-th of n parts, such as 2/4")
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
        failures = run(part_of(groups, options.part), options.output, facts, options.part)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
