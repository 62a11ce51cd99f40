"""``tabsoda mine`` names the rules for which other conditions fit as well."""

import json
import tomllib

import numpy as np
import polars as pl

from tabsoda.cli.main import main
from tabsoda.skips.rule_set import RuleSet


def test_rules_with_rivals_are_named_and_written(tmp_path, capsys):
    random = np.random.default_rng(0)
    gate = random.integers(1, 3, 600)
    first, last = (np.where(gate == 1, random.integers(1, 4, 600), np.nan) for _ in range(2))
    frame = pl.DataFrame({"gate": gate, "first": first, "copy": gate, "last": last})
    frame.fill_nan(None).write_parquet(tmp_path / "data.parquet")
    levels = {"gate": [1, 2], "first": [1, 2, 3], "copy": [1, 2], "last": [1, 2, 3]}
    described = [
        {"name": name, "type": "nominal", "levels": codes} for name, codes in levels.items()
    ]
    (tmp_path / "schema.json").write_text(json.dumps(described))
    command = ["mine", str(tmp_path / "data.parquet"), "--survey", str(tmp_path / "schema.json")]
    rules_file = tmp_path / "rules.toml"
    main([*command, "-o", str(rules_file)])
    said = " ".join(capsys.readouterr().out.split())
    assert "Needs attention: for 1 rule, other conditions fit equally well." in said
    assert "r002 last: gate is 2; or copy is 2" in said
    [_, rule] = tomllib.loads(rules_file.read_text())["rule"]
    assert rule["rivals"][0]["sentence"] == "last is skipped when copy is 2"
    assert rule["rivals"][0]["fired_blank"] == (gate == 2).sum()
    chosen = RuleSet.from_toml(rules_file).choose_rival("r002", 0, by="Ann")
    assert chosen["r002"].gates == ("copy",)
    main([*command, "--json"])
    assert json.loads(capsys.readouterr().out)["n_rules_with_rivals"] == 1
