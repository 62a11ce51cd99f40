"""Answers that must fit together: propose edits, impute with and without them, and compare.

python examples/edits.py [FOLDER] [QUALITY]
"""

import sys
from dataclasses import replace
from pathlib import Path

from tabsoda import Derivation, Edit, TabSODAImputer, read_survey
from tabsoda.datasets import make_survey
from tabsoda.edits.checking import check_edits
from tabsoda.edits.edit_set import EditSet
from tabsoda.edits.proposals import propose_edits

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example_output")
quality = sys.argv[2] if len(sys.argv) > 2 else "balanced"
truth = make_survey(n_rows=400, seed=1, nonresponse=0.1)
frame, plain, rules = truth.to_frame(), truth.schema(), truth.rules
folder.mkdir(exist_ok=True)

survey = read_survey(frame, plain)
for proposal in propose_edits(survey.schema, survey.table):
    print(f"proposed: {proposal.sentence}")

edited = replace(
    plain,
    edits=(Edit("YOUNGEST <= AGE - 14"), Edit("RENT <= INCOME"), Edit("SMKSTOP <= AGE")),
    derivations=(Derivation.of("BMI = KILOS / (HEIGHT / 100) ** 2"),),
)


def violations(table):
    """Return how many times a table violates an edit or a formula."""
    found = read_survey(table, edited)
    edits = EditSet.of(found.schema, found.table)
    return sum(finding.violated for finding in check_edits(edits, found.table))


print(f"observed: {violations(frame)} violations")
for name, description in (("without edits", plain), ("with edits", edited)):
    imputer = TabSODAImputer(description=description, rules=rules, quality=quality, random_state=1)
    result = imputer.fit(frame).impute(frame, m=3)
    counts = [violations(table) for table in result]
    print(f"{name}: {', '.join(map(str, counts))} violations in the completed tables")
print(f"{result.edits.mean_repaired:.1f} violations per draw were corrected")
result.complete(1).write_parquet(folder / "with_edits.parquet")
