"""How much a mean depends on why answers are missing: refusals apart from "don't know".

python examples/sensitivity.py [FOLDER] [QUALITY]
"""

import sys
from pathlib import Path

import numpy as np

from tabsoda import Reason, TabSODAImputer, sensitivity
from tabsoda.analysis import SampleDesign, pooled_mean
from tabsoda.datasets import make_survey

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example_output")
quality = sys.argv[2] if len(sys.argv) > 2 else "balanced"
truth = make_survey(n_rows=600, seed=3, spelled_out=(Reason.REFUSED, Reason.DONT_KNOW))
frame, schema = truth.to_frame(), truth.schema()
folder.mkdir(exist_ok=True)

imputer = TabSODAImputer(description=schema, rules=truth.rules, quality=quality, random_state=1)
result = imputer.fit(frame).impute(frame, m=10)

# Thirty districts in three regions. The description has a weight, but no strata and clusters.
districts = np.arange(600) // 20
design = SampleDesign.described(result, strata=districts % 3, clusters=districts)
mean = pooled_mean(result, "INCOME", design=design)
print(mean)

# Those who refused may earn up to a standard deviation more, those who did not know half of that.
found = sensitivity(
    result,
    lambda shifted: pooled_mean(shifted, "INCOME", design=design),
    ["INCOME:refused=0..1:0.25", "INCOME:dont_know=0..0.5:0.25"],
    null=float(mean.intervals()[0, 0]) + 60,
)
print(found)
(folder / "sensitivity.svg").write_text(found.picture(), encoding="utf-8")
