"""From a file with blanks to completed tables.

python examples/first_imputation.py [FOLDER] [STEPS]
"""

import sys
from pathlib import Path

import polars as pl

from tabsoda import TabSODAImputer
from tabsoda.datasets import make_survey

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example_output")
settings = None
if len(sys.argv) > 2:
    settings = {"training": {"max_steps": int(sys.argv[2])}, "experts": {"trees": "none"}}

# A survey that never was: survey.csv, what its columns mean, and which cells were skipped.
make_survey(n_rows=600, seed=1).write(folder)

# Learn from it. The mask says which blanks are no missing answers.
imputer = TabSODAImputer(description=folder / "survey.toml", settings=settings, random_state=1)
imputer.fit(folder / "survey.csv", skip_mask=folder / "skip.parquet")

# Five plausible tables. An analysis is run on each, and the results are pooled.
result = imputer.impute(folder / "survey.csv", m=5, skip_mask=folder / "skip.parquet")
for number, table in enumerate(result, start=1):
    table.write_parquet(folder / f"completed_{number}.parquet")
print(f"{sum(result.counts().values()):,} missing answers imputed, {len(result)} times")
print("Mean income in each table:", *(f"{table['INCOME'].mean():,.0f}" for table in result))

# Skipped questions stay empty: who said to have no children has no youngest child.
said = pl.read_csv(folder / "survey.csv")
childless = result.complete(1).filter(said["CHILDREN"] == 0)
print(f"{childless.height} without children, {childless['YOUNGEST'].null_count()} without an age")

# Later rows of the same survey need no new fit.
imputer.save(folder / "model")
later = make_survey(n_rows=50, seed=2, questionnaire_seed=1)
loaded = TabSODAImputer.load(folder / "model")
print(loaded.transform(later.to_frame(), skip_mask=later.skip_frame()).head(3))
