"""The engine's tables, and the numbers quoted from them, are those of the measured files."""

import importlib.util
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ROOT / "benchmarks" / "engine"


def test_the_tables_are_current() -> None:
    spec = importlib.util.spec_from_file_location("engine_tables", ENGINE / "tables.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = (ENGINE / "README.md").read_text(encoding="utf-8")

    assert script.filled(text) == text, "run: python benchmarks/engine/tables.py"


def test_the_decision_quotes_what_was_measured() -> None:
    result = json.loads((ENGINE / "sampler_bias.json").read_text(encoding="utf-8"))
    text = (ROOT / "docs" / "decisions" / "0003-clean-conditioning.md").read_text(encoding="utf-8")
    quoted = re.findall(
        r"^\| (noised and mixed in|clean) \| (\d+).*\| \.(\d+) \| \.(\d+) \|$", text, re.M
    )
    measured = [
        (
            {"mixed": "noised and mixed in", "clean": "clean"}[case["way"]],
            str(case["refresh_cycles"]),
            f"{case['mean']:.3f}"[2:],
            f"{case['variance']:.4f}"[2:],
        )
        for case in result["sampled"]
        if case["steps"] == 50
    ]

    assert quoted == measured
    exact = result["regression"]
    assert f"{exact['mean']:.3f}"[1:] in text
    assert f"{exact['variance']:.4f}"[1:] in text
