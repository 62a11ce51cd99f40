"""From a .sav file to a pooled regression.

python examples/from_spss.py [FOLDER] [QUALITY]
"""

import sys
from pathlib import Path

from tabsoda.datasets import make_survey

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example_output")
quality = sys.argv[2] if len(sys.argv) > 2 else "balanced"
make_survey(n_rows=800, seed=1).write(folder, formats=("sav",))

# The fifteen lines.
from tabsoda import TabSODAImputer, mine_rules, read_survey  # noqa: E402
from tabsoda.event_texts import sentence  # noqa: E402

survey = read_survey(folder / "survey.sav")
for event in survey.events:
    print(sentence(event))
rules = mine_rules(survey)
print(*rules.sentences(), sep="\n")
rules = rules.approve(note="compared with the questionnaire")
imputer = TabSODAImputer(description=survey.schema, rules=rules, quality=quality, random_state=1)
result = imputer.fit(survey).impute(survey, m=20)
result.report(folder / "report.html")
print(result.pool("KILOS ~ AGE + C(SEX) + C(CHRONIC)"))
