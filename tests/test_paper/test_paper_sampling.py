"""What must not matter to a draw: garbage, row order, blocks, the way steps are run."""

import pytest
import torch

from tabsoda.events import EventLog
from tabsoda.paper.denoiser import build_denoiser
from tabsoda.paper.reverse_process import ReverseProcess
from tabsoda.paper.reverse_sampler import (
    SampledRows,
    SamplerForm,
    StepTable,
    reverse_levels,
    reverse_step,
    step_keys,
)
from tabsoda.paper.settings import BackboneSettings, SamplerSettings
from tabsoda.torch_runtime.keyed_noise import torch_generator

SETTINGS = SamplerSettings(steps=6, refresh_cycles=2, churn=1.0)
BOTH = pytest.mark.parametrize("conditioning", ["noisy", "clean"])


def rows_of(generator, n=40, p=5):
    kind = torch.randint(3, (n, p), generator=generator)
    observed = torch.randn(n, p, generator=generator) * 0.5
    keys = torch.randint(-(2**62), 2**62, (n,), generator=generator)
    return SampledRows(observed, kind == 1, kind != 2, keys)


def process_of(conditioning, **options):
    denoiser = build_denoiser(
        5, BackboneSettings(width=16), 0.5, conditioning, torch_generator(3, "weights")
    )
    return ReverseProcess(denoiser.eval(), SETTINGS, conditioning, **options)


def pick(rows, index):
    return SampledRows(*(part[index] for part in rows))


@BOTH
@pytest.mark.parametrize("garbage", [torch.nan, torch.inf, 1e30])
def test_garbage_in_hidden_and_skipped_entries_changes_nothing(conditioning, garbage, generator):
    rows = rows_of(generator)
    spoilt = rows._replace(observed=torch.where(rows.visible, rows.observed, garbage))
    process = process_of(conditioning)
    assert torch.equal(process.sample(rows, key=5), process.sample(spoilt, key=5))


@BOTH
def test_visible_entries_return_bit_identical_and_skipped_ones_zero(conditioning, generator):
    rows = rows_of(generator)
    draws = process_of(conditioning).sample(rows, key=5)
    assert torch.equal(draws[rows.visible], rows.observed[rows.visible])
    assert (draws[~rows.applicable] == 0).all()
    assert draws[rows.to_impute].isfinite().all()
    assert draws[rows.to_impute].unique().numel() == rows.to_impute.sum()


@BOTH
@pytest.mark.parametrize("contradicting", [False, True], ids=["", "skipped-to-impute"])
def test_every_state_shown_is_skip_free_and_as_noisy_as_said(
    conditioning, contradicting, generator
):
    rows = rows_of(generator, n=400)
    asked = rows.to_impute | ~rows.applicable if contradicting else rows.to_impute
    process = process_of(conditioning)
    inner, seen = process.denoise, []

    def watched(state, noise_level, visible, skipped):
        assert torch.equal(visible, rows.visible)
        assert torch.equal(skipped, ~rows.applicable)
        assert (state[skipped] == 0).all()
        seen.append(((state - rows.observed)[visible], noise_level.item()))
        return inner(state, noise_level, visible, skipped)

    process.denoise = watched
    process.sample(rows._replace(to_impute=asked), key=5)
    # Heun looks twice per step: 5 levels of 2 cycles, and once for the last step.
    assert len(seen) == 2 * 5 * 2 + 1
    for added, noise_level in seen[::2]:
        expected = noise_level if conditioning == "noisy" else 0.0
        assert added.std().item() == pytest.approx(expected, rel=0.12)


@BOTH
def test_a_step_ignores_what_stands_in_skipped_entries(conditioning, generator):
    rows = rows_of(generator)
    table = StepTable(reverse_levels(SETTINGS), step_keys(5, SETTINGS))
    form, step = SamplerForm.of(SETTINGS, conditioning), torch.tensor([1])
    denoise = process_of(conditioning).denoise
    state = rows.observed.masked_fill(~rows.applicable, 0.0)
    spoilt = rows._replace(observed=torch.where(rows.visible, rows.observed, torch.nan))
    with torch.no_grad():
        moved = reverse_step(denoise, state, spoilt, table, step, form)
        assert torch.equal(moved, reverse_step(denoise, state, rows, table, step, form))
    assert (moved[~rows.applicable] == 0).all()


@BOTH
def test_an_entry_to_impute_that_is_skipped_stays_skipped(conditioning, generator):
    rows = rows_of(generator)
    contradicting = rows._replace(to_impute=rows.to_impute | ~rows.applicable)
    process = process_of(conditioning)
    assert torch.equal(process.sample(rows, key=5), process.sample(contradicting, key=5))


@BOTH
def test_row_order_and_blocks_do_not_matter(conditioning, generator):
    rows = rows_of(generator)
    process = process_of(conditioning)
    whole = process.sample(rows, key=5)
    order = torch.randperm(40, generator=generator)
    torch.testing.assert_close(process.sample(pick(rows, order), key=5), whole[order])
    blocks = [process.sample(pick(rows, slice(i, i + 7)), key=5) for i in range(0, 40, 7)]
    torch.testing.assert_close(torch.cat(blocks), whole)


@BOTH
def test_draws_differ_between_keys_and_repeat_for_one(conditioning, generator):
    rows = rows_of(generator)
    process = process_of(conditioning)
    once = process.sample(rows, key=5)
    assert torch.equal(once, process.sample(rows, key=5))
    assert (once != process.sample(rows, key=6))[rows.to_impute].all()


def test_sampling_leaves_the_global_generator_alone(generator):
    before = torch.get_rng_state()
    process_of("noisy").sample(rows_of(generator), key=5)
    assert torch.equal(before, torch.get_rng_state())


@BOTH
def test_one_traced_step_serves_all_steps(conditioning, generator):
    # Tracing as a whole fails on any read back to the host or branch on a tensor's value.
    rows, process = rows_of(generator), process_of(conditioning)
    table = StepTable(reverse_levels(SETTINGS), step_keys(5, SETTINGS))
    form = SamplerForm.of(SETTINGS, conditioning)
    traces = []

    def backend(graph, inputs):
        traces.append(graph)
        return graph.forward

    traced = torch.compile(reverse_step, fullgraph=True, dynamic=False, backend=backend)
    state = torch.where(rows.applicable, rows.observed, 0.0)
    with torch.no_grad():
        for position in range(3):
            step = torch.tensor([position])
            plain = reverse_step(process.denoise, state, rows, table, step, form)
            torch.testing.assert_close(
                traced(process.denoise, state, rows, table, step, form), plain
            )
            state = plain
    assert len(traces) == 1


def test_a_graph_without_cuda_is_logged_and_changes_nothing(generator):
    rows, events = rows_of(generator), EventLog()
    process = process_of("noisy", execution="compiled", events=events)
    draws = process.sample(rows, key=5)
    assert torch.equal(draws, process_of("noisy").sample(rows, key=5))
    assert process.execution == "eager"
    assert [(event.kind, event.counts["way"]) for event in events] == [
        ("sampler_step_not_captured", "captured"),
        ("sampler_step_not_captured", "eager"),
    ]
    assert "CUDA" in events.events[0].counts["message"]
