"""Adam and the plateau, against torch's own."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch

from tabsoda.torch_runtime.adam import Adam, Plateau

CPU = torch.device("cpu")


def network() -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_are_those_of_torch_to_the_bit(weight_decay: float) -> None:
    ours = network()
    theirs = copy.deepcopy(ours)
    adam = Adam(ours.parameters(), 1e-2, weight_decay, CPU)
    reference = torch.optim.AdamW(
        theirs.parameters(), lr=1e-2, weight_decay=weight_decay, fused=True
    )
    inputs = torch.randn(20, 11, 7, generator=torch.Generator().manual_seed(1))
    for number, batch in enumerate(inputs):
        rate = 1e-2 / (1 + number)
        adam.learning_rate = rate
        reference.param_groups[0]["lr"] = rate
        adam.clear_gradients()
        reference.zero_grad(set_to_none=True)
        for net in (ours, theirs):
            net(batch).square().mean().backward()
        adam.step()
        reference.step()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(one, other)


def test_parameters_without_a_gradient_stay() -> None:
    net = network()
    adam = Adam(net.parameters(), 0.1, 0.5, CPU)
    before = [one.detach().clone() for one in net.parameters()]
    net[2].weight.sum().backward()
    adam.step()
    moved = [not torch.equal(one, old) for one, old in zip(net.parameters(), before, strict=True)]
    assert moved == [False, False, True, False]


def test_forgetting_makes_the_next_step_a_first_one() -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    adam = Adam([weight], 0.1, 0.0, CPU)
    for scale in (1.0, 100.0):
        adam.forget()
        adam.clear_gradients()
        before = weight.item()
        (scale * weight).sum().backward()
        adam.step()
        # The first step is as long as the rate, whatever the gradient.
        assert before - weight.item() == pytest.approx(0.1, rel=1e-4)


def test_rates_on_a_plateau_are_those_of_torch() -> None:
    losses = [1.0, 0.9, 0.90001, 0.9, 0.9, 0.89995, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6]
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1e-3)
    reference = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=2)
    adam, plateau = Adam([], 1e-3, 0.0, CPU), Plateau(2)
    rates = []
    for loss in losses:
        reference.step(loss)
        if plateau.reached(loss):
            adam.lower_rate(0.3)
        rates.append((adam.learning_rate, optimizer.param_groups[0]["lr"]))
    assert all(ours == theirs for ours, theirs in rates)
    assert rates[-1][0] < 1e-3


def test_training_does_not_load_the_compiler() -> None:
    code = """
import sys
import torch
from tabsoda.torch_runtime.adam import Adam
from tabsoda.torch_runtime.layers import linear
layer = linear(3, 2, torch.Generator().manual_seed(1))
adam = Adam(layer.parameters(), 0.1, 0.0, torch.device("cpu"))
layer(torch.ones(4, 3)).sum().backward()
adam.step()
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
