"""Precision of the network on a GPU: a setting, in training and in sampling."""

import pytest
import torch

from tabsoda.datasets import make_survey
from tabsoda.engine.presets import quality_settings
from tabsoda.engines import precision_of
from tabsoda.paper import e_step
from tabsoda.paper.engine import PaperEngine
from tabsoda.paper.settings import PaperSettings
from tabsoda.torch_runtime.devices import matrix_precision
from tabsoda.torch_runtime.optimizer_steps import OptimizerSteps


@pytest.mark.parametrize(("capability", "fast"), [((9, 0), True), ((7, 5), False)])
def test_auto_is_bfloat16_where_the_gpu_is_fast_at_it(monkeypatch, capability, fast):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    assert matrix_precision(gpu) is (torch.bfloat16 if fast else torch.float32)
    assert matrix_precision(gpu, "float32") is matrix_precision(cpu) is torch.float32
    for device, precision, rounded in (
        (gpu, "auto", fast),
        (gpu, "float32", False),
        (cpu, "auto", False),
    ):
        steps = object.__new__(OptimizerSteps)
        steps.device, steps.precision = device, precision
        assert steps._in_bfloat16 == rounded


def test_the_paper_s_settings_are_in_single_precision():
    for preset, precision in (("path", "float32"), ("nsduh", "float32"), ("small", "auto")):
        assert precision_of(PaperSettings.preset(preset)) == precision
    assert precision_of(quality_settings("balanced", 100, 10)) == "auto"


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_the_setting_reaches_training_and_sampling(monkeypatch, precision):
    table = make_survey(100, n_columns=10, seed=1).table
    settings = PaperSettings.preset("nsduh").replace(
        backbone={"width": 8},
        training={"max_steps": 2, "calibration_steps": 1, "precision": precision},
        sampler={"steps": 2, "chains": 1},
    )
    asked = {"training": set(), "sampling": set()}
    build, choose = OptimizerSteps.__init__, e_step.matrix_precision

    def built(self, *arguments, **options):
        asked["training"].add(options["precision"])
        build(self, *arguments, **options)

    def chosen(device, precision="not given"):
        asked["sampling"].add(precision)
        return choose(device, precision)

    monkeypatch.setattr(OptimizerSteps, "__init__", built)
    monkeypatch.setattr(e_step, "matrix_precision", chosen)
    PaperEngine.fit(table, settings, device="cpu")
    assert asked == {"training": {precision}, "sampling": {precision}}
