"""From a .sav file to a pooled regression.

python examples/from_spss.py [FOLDER] [STEPS]
"""

import sys
from pathlib import Path

from tabsoda.datasets import make_survey

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example_output")
settings = None
if len(sys.argv) > 2:
    settings = {"training": {"max_steps": int(sys.argv[2])}, "experts": {"trees": "none"}}
make_survey(n_rows=800, seed=1).write(folder, formats=("sav",))

# The fifteen lines.
from tabsoda import TabSODAImputer, mine_rules, read_survey  # noqa: E402

survey = read_survey(folder / "survey.sav")
for event in survey.events:
    print(event.decision, event.column or "", event.detail)
rules = mine_rules(survey)
print(*rules.sentences(), sep="\n")
rules = rules.approve(note="read and agreed with the questionnaire")
imputer = TabSODAImputer(description=survey.schema, rules=rules, settings=settings, random_state=1)
result = imputer.fit(survey).impute(survey, m=20)
result.report(folder / "report.html", imputer=imputer)
print(result.pool("KILOS ~ AGE + C(SEX) + C(CHRONIC)"))
