"""Mine the routing rules of a survey, approve or reject them, and check data against them.

python examples/mining_and_review.py [FOLDER]
"""

import sys
from pathlib import Path

from tabsoda import RuleSet, check, mine_rules, read_survey
from tabsoda.datasets import make_survey

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example_output")
make_survey(n_rows=2000, seed=1).write(folder)
survey = read_survey(folder / "survey.csv", folder / "survey.toml")

# Find the earlier answers that route respondents past a question, from the blanks alone.
rules = mine_rules(survey)
skipped = rules.apply(survey.table).skipped
print(f"{len(rules)} rules, {int(skipped.sum()):,} blanks explained. The first five:")
for rule in rules.rules[:5]:
    evidence = rule.evidence
    print(f"  {rules.sentence(rule)}")
    print(f"    blank in {evidence.fired_blank}, answered in {evidence.fired_answered} such rows")

# Approve the clear rules at once. A person should look at the rest, on the review page:
#     tabsoda review rules.toml survey.csv --survey survey.toml
rules = rules.approve(lambda rule: rule.evidence.answered_upper < 0.02, note="under 2 % answered")
doubtful = [rule.identifier for rule in rules if rule.status == "proposed"]
rules = rules.reject(doubtful, note="too many answered") if doubtful else rules
rules.to_toml(folder / "rules.toml")
print(f"{len(rules.active)} approved, {len(doubtful)} rejected")

# Check the data against the approved rules.
found = check(survey.table, RuleSet.from_toml(folder / "rules.toml"))
print(f"{found.n_answered_although_skipped} answers against a rule;", end=" ")
print(f"{found.totals['unexplained']:,} blanks that no rule explains")
