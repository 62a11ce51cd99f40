"""Damaged checkpoints, models, results, descriptions and rules files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from damage import damaged
from outcomes import ORDERLY, Outcomes
from tries import Fault, attempt, command
from workplace import Workplace, answers


def damaged_checkpoints(work: Workplace, n_tries: int, seed: int) -> Outcomes:
    """Kill ``impute``, damage a file of its checkpoint, and run it again.

    It must give the tables of an uninterrupted run, or refuse the folder.
    """
    found = Outcomes("impute continued from a damaged checkpoint")
    expected = answers(work.result)
    total = work.changes
    rng = np.random.default_rng(seed)
    out = work.folder / "out"
    for number in range(n_tries):
        moment = int(rng.integers(total // 3, total - 5))
        work.remove("out")
        attempt(work.impute("out"), fault=Fault("kill", moment, str(work.folder)))
        files = sorted(path for path in (out / ".checkpoint").rglob("*") if path.is_file())
        if not files:
            continue
        path = files[int(rng.integers(len(files)))]
        how, content = damaged(path.read_bytes() or b"x", rng)
        path.write_bytes(content)
        what = f"killed at change {moment}, {path.relative_to(out)}: {how}, try {number}"
        code, text = attempt(work.impute("out"))
        is_orderly = code in (0, 2) and "Traceback" not in text
        found.expect(is_orderly, f"{what}: ended with {code}\n{text}")
        if code == 0:
            found.expect(answers(out) == expected, f"{what}: the tables differ")
    work.remove("out")
    return found


def damaged_results(work: Workplace, n_tries: int, seed: int) -> list[Outcomes]:
    """Damage a file of a finished result, and use it: a changed file is never read silently."""
    rng = np.random.default_rng(seed)
    copy = work.folder / "copy"
    results = Outcomes("report, pool and export of a result with a damaged file")
    models = Outcomes("impute with a damaged model")
    files = sorted(path for path in work.result.rglob("*") if path.is_file())
    checked = [path for path in files if path.suffix != ".html" and path.name != "report.json"]
    for number in range(n_tries):
        source = checked[int(rng.integers(len(checked)))]
        shutil.copytree(work.result, copy)
        path = copy / source.relative_to(work.result)
        how, content = damaged(source.read_bytes(), rng)
        path.write_bytes(content)
        what = f"{path.relative_to(copy)}: {how}, try {number}"
        actions = {
            "report": command("report", copy, "-o", work.folder / "page.html", "--force"),
            "pool": command("pool", copy, "--mean", "AGE"),
            "export": command("export", copy, "--to", "csv", "-o", work.folder / "e"),
        }
        name = ("report", "pool", "export")[number % 3]
        code, text = attempt(actions[name])
        is_orderly = code in ORDERLY and "Traceback" not in text
        results.expect(is_orderly, f"{name}, {what}: ended with {code}\n{text}")
        # The manifest holds the hashes of all others.
        is_noticed = code == 2 or path.name == "manifest.json" or content == source.read_bytes()
        results.expect(is_noticed, f"{name}, {what}: not noticed")
        shutil.rmtree(copy)
        for place in ("e", "page.html", "page.json"):
            work.remove(place)
    inside = sorted(path for path in (work.result / "model").iterdir() if path.is_file())
    for number in range(max(1, n_tries // 2)):
        source = inside[int(rng.integers(len(inside)))]
        shutil.copytree(work.result / "model", copy)
        how, content = damaged(source.read_bytes(), rng)
        (copy / source.name).write_bytes(content)
        what = f"model/{source.name}: {how}, try {number}"
        data = work.folder / "survey.csv"
        code, text = attempt(
            command("impute", data, "--model", copy, "-o", work.folder / "out", "-m", "1")
        )
        models.expect(code == 2 and "Traceback" not in text, f"{what}: ended with {code}\n{text}")
        shutil.rmtree(copy)
        work.remove("out")
    return [results, models]


def damaged_texts(work: Workplace, n_tries: int, seed: int) -> Outcomes:
    """Damage rules files and descriptions, which people write: commands end in order."""
    found = Outcomes("check and impute --dry-run with a damaged rules file or description")
    rng = np.random.default_rng(seed)
    for number in range(n_tries):
        name = ("rules.toml", "survey.toml")[number % 2]
        how, content = damaged((work.folder / name).read_bytes(), rng)
        path = work.folder / f"damaged-{name}"
        path.write_bytes(content)
        files = {
            "rules.toml": work.folder / "rules.toml",
            "survey.toml": work.folder / "survey.toml",
        }
        files[name] = path
        data = work.folder / "survey.csv"
        given = ("--survey", files["survey.toml"], "--rules", files["rules.toml"])
        action = command("check", data, *given)
        if number % 4 > 1:
            dry = ("-o", work.folder / "out", "--dry-run", "--quality", "tiny", "--accept-all")
            action = command("impute", data, *given, *dry)
        code, text = attempt(action)
        # check ends with 1 if the data contradict the rules.
        is_orderly = code in (*ORDERLY, 1) and "Traceback" not in text
        found.expect(is_orderly, f"{name}: {how}, try {number}: ended with {code}\n{text}")
        path.unlink()
    return found


def two_runs(work: Workplace, n_tries: int) -> Outcomes:
    """Start two runs into one folder: one finishes, the other ends with an error message."""
    found = Outcomes("two runs of impute into one folder at once")
    expected = answers(work.result)
    out = work.folder / "out"
    for number in range(n_tries):
        work.remove("out")
        texts = [Path(work.folder / f"text-{which}") for which in "ab"]
        code, _ = attempt(lambda: _race(work, texts))  # noqa: B023 - used at once
        seen = [text.read_text(encoding="utf-8").split("\n", 1) for text in texts]
        codes = sorted(int(one[0]) for one in seen)
        is_known = codes in ([0, 2], [0, 0]) and not any("Traceback" in one[1] for one in seen)
        found.expect(is_known and code == 0, f"try {number}: ended with {codes}, {seen}")
        found.expect(answers(out) == expected, f"try {number}: the tables differ")
        for text in texts:
            text.unlink()
    work.remove("out")
    return found


def _race(work: Workplace, texts: list[Path]) -> None:
    """Run the same command in two threads of control, and keep how each ended."""
    import threading

    def run(text: Path) -> None:
        code, output = attempt(work.impute("out"))
        text.write_text(f"{code}\n{output}", encoding="utf-8")

    both = [threading.Thread(target=run, args=(text,)) for text in texts]
    for one in both:
        one.start()
    for one in both:
        one.join()
