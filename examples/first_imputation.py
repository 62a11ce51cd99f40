"""From a file with blanks to completed tables.

python examples/first_imputation.py [FOLDER] [QUALITY]
"""

import sys
from pathlib import Path

import polars as pl

from tabsoda import TabSODAImputer
from tabsoda.datasets import make_survey

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example_output")
quality = sys.argv[2] if len(sys.argv) > 2 else "balanced"

# A simulated survey: survey.csv, the description of its columns, and the cells that were skipped.
make_survey(n_rows=600, seed=1).write(folder)

# Fit. The mask says which blanks are skips; all others are missing answers.
imputer = TabSODAImputer(description=folder / "survey.toml", quality=quality, random_state=1)
imputer.fit(folder / "survey.csv", skip_mask=folder / "skip.parquet")

# Draw five completed tables. Run an analysis on each of them, then pool the results.
result = imputer.impute(folder / "survey.csv", m=5, skip_mask=folder / "skip.parquet")
for number, table in enumerate(result, start=1):
    table.write_parquet(folder / f"completed_{number}.parquet")
print(f"{sum(result.counts().values()):,} missing answers imputed, {len(result)} times")
print("Mean income in each table:", *(f"{table['INCOME'].mean():,.0f}" for table in result))

# Skipped questions stay empty: respondents without children have no age of the youngest child.
observed = pl.read_csv(folder / "survey.csv")
childless = result.complete(1).filter(observed["CHILDREN"] == 0)
print(f"{childless.height} without children, {childless['YOUNGEST'].null_count()} without an age")

# The saved model imputes new rows of the same survey without a new fit.
imputer.save(folder / "model")
later = make_survey(n_rows=50, seed=2, questionnaire_seed=1)
loaded = TabSODAImputer.load(folder / "model")
print(loaded.transform(later.to_frame(), skip_mask=later.skip_frame()).head(3))
