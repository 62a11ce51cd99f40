"""Bounds and tests of association against scipy's, and the paper's caps by hand."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control, fisher_exact

from tabsoda.skips.screening import (
    Counts,
    adjust,
    evidence,
    fisher_log_p,
    position_caps,
    wilson_upper,
)
from tabsoda.skips.settings import MinerSettings, PaperScreenSettings

# scipy takes a confidence level, the paper z = 1.96.
LEVEL = 0.950004209703559


@given(total=st.integers(1, 20_000), share=st.floats(0, 1))
def test_wilson_bound_is_scipys(total, share):
    errors = round(total * share)
    interval = binomtest(errors, total).proportion_ci(LEVEL, method="wilson")
    assert wilson_upper(errors, total) == pytest.approx(interval.high, abs=1e-9)


def test_wilson_bound_of_no_rows_is_one():
    np.testing.assert_array_equal(wilson_upper([0, 0], [0, 0]), [1.0, 1.0])


def test_false_positive_cap_needs_545_answered_rows():
    assert wilson_upper(0, 545) <= 0.007 < wilson_upper(0, 544)


@given(*[st.integers(0, 300)] * 4)
def test_fisher_is_scipys(a, b, c, d):
    assume(a + b + c + d > 0)
    expected = fisher_exact([[a, b], [c, d]], alternative="greater").pvalue
    assert np.exp(fisher_log_p(Counts(a, b, c, d))) == pytest.approx(expected, rel=1e-6, abs=1e-300)


def test_fisher_does_not_underflow():
    log_p = fisher_log_p(Counts(20_000, 0, 0, 20_000))
    assert -30_000 < log_p < -27_000  # log of 1 / choose(40000, 20000)


@given(st.lists(st.floats(1e-12, 1), min_size=1, max_size=20))
def test_adjustment_is_scipys(p_values):
    expected = false_discovery_control(p_values)
    np.testing.assert_allclose(adjust(np.log(p_values)), expected, rtol=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_counts_are_a_cross_table(cells):
    fires, blank = np.array(cells).T
    counts = Counts.of(fires, blank)
    assert counts.fired_blank == sum(f and b for f, b in cells)
    assert counts.fired_asked == sum(f and not b for f, b in cells)
    assert counts.silent_blank == sum(b and not f for f, b in cells)
    assert counts.silent_asked == sum(not f and not b for f, b in cells)


def test_evidence_keeps_both_readings_of_the_table():
    found = evidence(Counts(90, 10, 30, 70), q_value=0.5)
    assert found.answered_upper == pytest.approx(float(wilson_upper(10, 100)))
    assert found.false_positive_upper == pytest.approx(float(wilson_upper(10, 80)))
    assert found.false_negative_upper == pytest.approx(float(wilson_upper(30, 120)))
    assert found.coverage == 0.75


def test_caps_by_position():
    caps = position_caps(50, 100, 10_000, 10_000, PaperScreenSettings())
    assert caps.false_positive == pytest.approx(0.007 * 1.1)
    assert caps.false_negative == pytest.approx(0.02 * 1.25 + 0.01)
    assert caps.support == 175  # floor(200 * (1 - .25 * .5))


def test_caps_of_a_sparse_target_stop_at_the_ceiling_and_the_floor():
    caps = position_caps(0, 10, 100, 4, PaperScreenSettings())
    assert caps.false_negative == 0.05
    assert caps.support == 30
    last = position_caps(99, 100, 100, 4, PaperScreenSettings(position_support=1.0))
    assert last.support == 22  # floor(.75 * 30)


def test_presets_are_the_papers():
    path, wide = MinerSettings.preset("path").paper, MinerSettings.preset("nsduh-200").paper
    values = [
        (s.min_support_fraction, s.max_false_positive_rate, s.max_false_negative_rate)
        for s in (path, wide)
    ]
    assert values == [(0.02, 0.007, 0.02), (0.005, 0.007, 0.05)]
    small = MinerSettings.preset("small-survey").paper
    assert wilson_upper(0, 80) <= small.max_false_positive_rate


def test_unknown_preset_names_the_known_ones():
    with pytest.raises(ValueError, match="nsduh-200"):
        MinerSettings.preset("nhanes")
