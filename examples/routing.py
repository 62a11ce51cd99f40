"""When the gate itself is missing: follow the rules, or keep the fixed mask of the paper.

python examples/routing.py [FOLDER] [QUALITY]
"""

import sys
from pathlib import Path

from tabsoda import TabSODAImputer, check, read_survey
from tabsoda.datasets import make_survey

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example_output")
quality = sys.argv[2] if len(sys.argv) > 2 else "balanced"
truth = make_survey(n_rows=400, seed=1, nonresponse=0.08)
frame, schema, rules = truth.to_frame(), truth.schema(), truth.rules
folder.mkdir(exist_ok=True)

observed = check(read_survey(frame, schema).table, rules)
print(f"observed: {observed.n_answered_although_skipped} answers against the routing")
for policy in ("follow", "keep"):
    imputer = TabSODAImputer(
        description=schema, rules=rules, gate_policy=policy, quality=quality, random_state=1
    )
    result = imputer.fit(frame).impute(frame, m=5)
    broken = [
        check(read_survey(table, schema).table, rules).n_answered_although_skipped
        for table in result
    ]
    print(f"{policy}: {', '.join(map(str, broken))} in the five completed tables")
    if policy == "follow":
        routing = result.routing
        print(f"  {routing.followers} cells depend on a missing gate,")
        print(f"  {routing.mean_skipped:.1f} of them skipped on average over the draws")
        asked = routing.total("ruled_out") / len(result)
        print(f"  {asked:.0f} gate answers per draw ruled out because a follow-up was asked")
        result.complete(1).write_parquet(folder / "followed.parquet")
