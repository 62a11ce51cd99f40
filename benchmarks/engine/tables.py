"""Write the tables of ``benchmarks/engine/README.md`` from the measured JSON files.

python benchmarks/engine/tables.py            # rewrite the README between its markers
python benchmarks/engine/tables.py --check    # exit with 1 where it is not current
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
NOT_MEASURED = "Not measured yet.\n"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Lay out rows as a Markdown table; the first one is the heading."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    rule = "| --- |" + " ---: |" * (len(rows[0]) - 1)
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


def per_step(result: dict[str, Any], unit: str, scale: float) -> list[list[str]]:
    """Return what a step takes against what its arithmetic alone would take."""
    sampling = result["sampling"]
    step, floor = result["seconds_per_training_step"], result["floor_per_training_step"]
    chain = sampling["seconds_per_million_row_steps"]
    chain_floor = sampling["floor_per_million_row_steps"]
    return [
        ["", "measured", "arithmetic alone", "share of the matrix rate"],
        [
            f"training step, {unit}",
            f"{step * scale:.2f}",
            f"{floor * scale:.2f}",
            _percent(floor / step),
        ],
        [
            "million sampled row-steps, s",
            f"{chain:.3f}",
            f"{chain_floor:.3f}",
            _percent(sampling["share_of_matrix_rate"]),
        ],
    ]


def gpu(result: dict[str, Any]) -> str:
    """Return the section of the paper's PATH preset."""
    rounds = result["rounds"]
    precision = result["precision"].removeprefix("torch.")
    facts = (
        f"{result['device']}, torch {result['torch']}, {precision},"
        f" {result['matrix_rate_tflops']:.0f} TFLOP/s in large matrix products.\n"
        f"{result['rows']:,} x {result['columns']} cells, {_percent(result['missing_share'])}"
        f" missing, {_percent(result['skipped_share'])} skipped;"
        f" {result['settings']['sampler']['chains']} chains.\n"
    )
    whole = [
        ["", "seconds"],
        [f"fit, {len(rounds)} rounds", f"{result['fit_seconds']:.0f}"],
        ["of it training", f"{sum(r['training_seconds'] for r in rounds):.0f}"],
        ["of it imputing", f"{sum(r['imputing_seconds'] for r in rounds):.0f}"],
        ["point estimate afterwards", f"{result['point_seconds']:.0f}"],
    ]
    peak = f"Peak memory on the device: {result['peak_memory_gib']:.2f} GiB.\n"
    return "\n".join([facts, table(whole), table(per_step(result, "ms", 1e3)), peak])


def best(result: dict[str, Any]) -> str:
    """Return the section of the quality "best"."""
    facts = (
        f"{result['device']}, torch {result['torch']}; {result['rows']:,} x {result['columns']}"
        f" cells, {_percent(result['missing_share'])} missing; {result['steps']:,} steps.\n"
    )
    rows = [
        ["", "seconds"],
        ["fit of network and trees", f"{result['fit_seconds']:.0f}"],
        ["of it training the network", f"{result['training_seconds']:.0f}"],
        ["point estimate", f"{result['point_seconds']:.0f}"],
    ]
    return f"{facts}\n{table(rows)}"


def step(result: dict[str, Any]) -> str:
    """Return the section of compiled and merely captured steps."""
    facts = (
        f"{result['device']}, torch {result['torch']}; {result['rows']:,} x {result['columns']}"
        " cells.\n"
    )
    rows = [["network", "captured, ms", "compiled, ms", "compiling, s", "earned back after"]]
    for name, ways in result["networks"].items():
        captured, compiled = (ways[way]["step_milliseconds"] for way in ("captured", "compiled"))
        seconds = ways["compiled"]["capture_seconds"] - ways["captured"]["capture_seconds"]
        steps = 1e3 * seconds / (captured - compiled)
        numbers = (f"{captured:.2f}", f"{compiled:.2f}", f"{seconds:.0f}", f"{steps:,.0f} steps")
        rows.append([name, *numbers])
    return f"{facts}\n{table(rows)}"


def cpu(result: dict[str, Any]) -> str:
    """Return the section of the small preset."""
    facts = (
        f"{result['device']}, {result['threads']} threads, torch {result['torch']},"
        f" {result['matrix_rate_gflops']:.0f} GFLOP/s in matrix products; load before the run"
        f" {result['load_before']:.1f}.\n"
        f"{result['rows']:,} x {result['columns']} cells, {_percent(result['missing_share'])}"
        f" missing, {_percent(result['skipped_share'])} skipped; {result['n_draws']} draws.\n"
    )
    peer = result["peer"]
    whole = [
        ["", "seconds"],
        ["fit", f"{result['fit_seconds']:.0f}"],
        [f"point estimate and {result['n_draws']} draws", f"{result['impute_seconds']:.0f}"],
        ["together", f"{result['total_seconds']:.0f}"],
        ["announced before the run, at most", f"{result['announced_seconds']:.0f}"],
        [peer["name"], f"{peer['seconds']:.0f}"],
        ["ours over the peer's", f"{peer['ratio']:.2f}"],
    ]
    chains = result["peak_memory_by_chains_bytes"]
    memory = [
        ["peak memory of the process", "MB"],
        [
            "before fitting",
            _mega(result["peak_memory_bytes"] - result["peak_memory_beyond_start_bytes"]),
        ],
        ["fit, point estimate and draws", _mega(result["peak_memory_bytes"])],
        *([f"E-step with {n} chains", _mega(peak)] for n, peak in chains.items()),
    ]
    scores = [["a fifth of the answers hidden", *SCORES]]
    for method, values in result["scores"].items():
        scores.append([method, *(f"{values[key]:.3f}" for key in SCORES.values())])
    parts = [table(whole), table(per_step(result, "ms", 1e3)), table(memory), table(scores)]
    return "\n".join([facts, *parts])


SCORES = {
    "nominal right": "nominal_accuracy",
    "ordinal right": "ordinal_accuracy",
    "ordinal levels off": "mace_median",
    "RMSE": "rmse",
}


def bias(result: dict[str, Any]) -> str:
    """Return the section of the sampler's bias."""
    rows = [["how visible entries enter", "cycles", "churn", "steps", "mean", "variance"]]
    for case in result["sampled"]:
        numbers = (f"{case[key]:g}" for key in ("refresh_cycles", "churn", "steps"))
        rows.append([case["way"], *numbers, f"{case['mean']:.3f}", f"{case['variance']:.4f}"])
    exact = result["regression"]
    rows.append(["the regression", "", "", "", f"{exact['mean']:.3f}", f"{exact['variance']:.4f}"])
    return table(rows)


_ESTIMATES = ("mean table", "median table", "network's median", "median of 20 draws")


def _kinds(result: dict[str, Any]) -> list[tuple[str, str]]:
    heavy = f"Numbers with {_percent(result['many_zeros'])} zeros or more"
    return [("all numbers", "All numbers"), ("heavy in zeros", heavy)]


def _sizes(result: dict[str, Any]) -> str:
    return (
        f"{result['rows']:,} rows and {result['columns']} questions of each survey,"
        f" {_percent(result['hidden'])} of the answers hidden. Errors in standard deviations,"
        " averaged over questions."
    )


def medians(result: dict[str, Any]) -> str:
    """Return the point estimates of numbers, one survey and quality in each row."""
    shown = _ESTIMATES
    facts = f"{_sizes(result)}\n"
    parts = [facts]
    for kind, title in _kinds(result):
        rows = [["survey, quality", "questions", *(f"MAE, {name}" for name in shown)]]
        rows[0] += ["RMSE, mean table", "RMSE, median table"]
        rows[0] += ["zeros found, mean table", "zeros found, median table"]
        for run in result["runs"]:
            scores = run[kind]
            if not scores["questions"]:
                continue
            numbers = [f"{scores['mae'][name]:.3f}" for name in shown]
            numbers += [f"{scores['rmse'][name]:.3f}" for name in shown[:2]]
            found = scores["zeros found"]
            numbers += [_percent(found[name]) if found else "" for name in shown[:2]]
            name = f"{run['survey']}, {run['quality']}"
            rows.append([name, str(scores["questions"]), *numbers])
        parts.append(f"{title}:\n\n{table(rows)}")
    return "\n".join(parts)


def confirmed(result: dict[str, Any]) -> str:
    """Return the point estimates on cells that nothing was chosen on, with a summary."""
    lines = [f"Other respondents, questions and hidden answers; {_sizes(result)}\n"]
    for kind, title in _kinds(result):
        rows = [["survey, replication", "questions", *(f"MAE, {name}" for name in _ESTIMATES)]]
        rows[0] += ["RMSE, mean table", "RMSE, median table", "median table nearer than mean table"]
        runs = [run for run in result["runs"] if run[kind]["questions"]]
        for run in runs:
            scores = run[kind]
            numbers = [f"{scores['mae'][name]:.3f}" for name in _ESTIMATES]
            numbers += [f"{scores['rmse'][name]:.3f}" for name in _ESTIMATES[:2]]
            nearer = f"{scores['median table better']['mean table']} of {scores['questions']}"
            name = f"{run['survey']}, {run['replication']}"
            rows.append([name, str(scores["questions"]), *numbers, nearer])
        lines.append(f"{title}:\n\n{table(rows)}\n{_comparison([run[kind] for run in runs])}\n")
    return "\n".join(lines)


def _comparison(runs: list[dict[str, Any]]) -> str:
    """Say in how many runs and questions the median table is nearer than each alternative."""
    questions = sum(run["questions"] for run in runs)
    parts = []
    for name in (*_ESTIMATES[:1], *_ESTIMATES[2:], "constant median"):
        won = sum(run["mae"]["median table"] < run["mae"][name] for run in runs)
        nearer = sum(run["median table better"][name] for run in runs)
        parts.append(f"{name}: {won} runs, {nearer} questions")
    return (
        f"Where the median table has the smaller MAE, of {len(runs)} runs and {questions}"
        f" questions: against {'; '.join(parts)}."
    )


def announced(result: list[dict[str, Any]]) -> str:
    """Return announced and taken time and memory."""
    rows = [["", "announced, s", "taken, s", "ratio", "announced, MB", "taken, MB", "ratio"]]
    for run in result:
        seconds = (f"{run[key]:.0f}" for key in ("announced_seconds", "taken_seconds"))
        memory = (f"{run[key]:,}" for key in ("announced_mb", "taken_mb"))
        ratios = (f"{run[key]:.2f}" for key in ("seconds_ratio", "memory_ratio"))
        rows.append([run["case"], *seconds, next(ratios), *memory, next(ratios)])
    return table(rows)


def stages(result: dict[str, Any]) -> str:
    """Return where the time of an imputation goes, by version."""
    parts = next(iter(next(iter(result.values())).values()))["seconds"]
    rows = [["case, version", "CPU seconds", *parts, "over MICE", "MB"]]
    for case, versions in result.items():
        for version, found in versions.items():
            over = found["over_mice"]
            rows.append(
                [
                    f"{case}, {found['draws']} draws, {version}",
                    f"{found['cpu_seconds']:.1f}",
                    *(_percent(found["shares"][part]) for part in parts),
                    "" if over is None else f"{over:.1f}",
                    str(found["peak_mb"]),
                ]
            )
    return table(rows)


def more_cores(result: dict[str, Any]) -> str:
    """Return the CPU and elapsed time of more threads over that of one."""
    names = ["as installed", "2 cores", "8 cores", "16 cores"]
    rows = [["", *names, "same draws"]]
    for case in result["cases"]:
        over = case["over_one_thread"]
        where = "next to a busy process" if case["busy_neighbour"] else "alone"
        cells = [
            f"{over[name]['median_cpu_seconds']:.2f} / {over[name]['median_seconds']:.2f}"
            for name in names
        ]
        label = f"{case['case'].replace(':', ', ')}, {case['table']}, {where}"
        rows.append([label, *cells, "yes" if case["same_draws"] else "no"])
    return table(rows)


def cpu_times(result: dict[str, Any]) -> str:
    """Return the CPU time of the qualities over that of MICE."""
    ratios = result["over_mice"] | {
        "mean": result["mean_ratio"],
        "median": result["median_ratio"],
    }
    methods = list(result["mean_ratio"])
    rows = [["survey", *methods]]
    rows += [[name, *(f"{own[one]:.2f}" for one in methods)] for name, own in ratios.items()]
    return table(rows)


SECTIONS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "gpu": ("gpu_path.json", gpu),
    "best": ("gpu_best.json", best),
    "step": ("gpu_step.json", step),
    "cpu": ("cpu.json", cpu),
    "bias": ("sampler_bias.json", bias),
    "medians": ("number_medians.json", medians),
    "confirmed": ("number_medians_confirmed.json", confirmed),
    "stages": ("stages.json", stages),
    "more cores": ("threads_more_cores.json", more_cores),
    "sixteen cores": ("threads_sixteen_cores.json", more_cores),
    "announced": ("announced_cost.json", announced),
    "cpu times": ("cpu_times.json", cpu_times),
}


def filled(text: str) -> str:
    """Return the README with every section between its markers rewritten."""
    for name, (file, write) in SECTIONS.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        head, rest = text.split(start)
        _, tail = rest.split(end)
        path = HERE / file
        body = write(json.loads(path.read_text())) if path.exists() else NOT_MEASURED
        text = f"{head}{start}\n{body}\n{end}{tail}"
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _mega(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.0f}"


def main() -> None:
    text = README.read_text(encoding="utf-8")
    current = filled(text)
    if "--check" in sys.argv:
        sys.exit(current != text)
    README.write_text(current, encoding="utf-8")


if __name__ == "__main__":
    main()
