"""Adam with decoupled weight decay, on torch's functional form of it.

torch's optimiser objects import its compiler when they are built, which takes longer than fitting a
small table. The arithmetic is the same.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch.optim.adamw import adamw

_BETAS = (0.9, 0.999)
_EPSILON = 1e-8
_LEAST_CHANGE = 1e-8


class Adam:
    """The parameters of a network, their moments and the learning rate.

    Parameters
    ----------
    parameters : iterable of tensor
        Changed in place by :meth:`step`.
    learning_rate, weight_decay : float
    device : torch.device
        Where the parameters are. On a CUDA device a step can be captured in a graph.

    Examples
    --------
    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> adam = Adam([weight], 0.1, 0.0, torch.device("cpu"))
    >>> weight.sum().backward()
    >>> adam.step()
    >>> round(weight.item(), 4)
    0.9
    """

    def __init__(
        self,
        parameters: Iterable[torch.Tensor],
        learning_rate: float,
        weight_decay: float,
        device: torch.device,
    ) -> None:
        self.parameters = list(parameters)
        self._on_gpu = device.type == "cuda"
        self._weight_decay = weight_decay
        # A tensor, so that a captured step uses the current rate.
        self._rate = torch.tensor(learning_rate, device=device) if self._on_gpu else learning_rate
        self._means = [torch.zeros_like(one) for one in self.parameters]
        self._squares = [torch.zeros_like(one) for one in self.parameters]
        self._steps = [torch.zeros((), dtype=torch.float32, device=device) for _ in self.parameters]

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return float(self._rate)

    @learning_rate.setter
    def learning_rate(self, rate: float) -> None:
        if isinstance(self._rate, torch.Tensor):
            self._rate.fill_(rate)
        else:
            self._rate = rate

    def lower_rate(self, factor: float) -> None:
        """Multiply the learning rate by a factor, unless the difference would be negligible."""
        lower = self.learning_rate * factor
        if self.learning_rate - lower > _LEAST_CHANGE:
            self.learning_rate = lower

    def clear_gradients(self) -> None:
        """Forget the gradients of the last step."""
        for one in self.parameters:
            one.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Change the parameters by their gradients; those without a gradient stay."""
        moved = [place for place, one in enumerate(self.parameters) if one.grad is not None]
        adamw(
            [self.parameters[place] for place in moved],
            [grad for one in self.parameters if (grad := one.grad) is not None],
            [self._means[place] for place in moved],
            [self._squares[place] for place in moved],
            [],
            [self._steps[place] for place in moved],
            fused=True,
            capturable=self._on_gpu,
            amsgrad=False,
            beta1=_BETAS[0],
            beta2=_BETAS[1],
            lr=self._rate,
            weight_decay=self._weight_decay,
            eps=_EPSILON,
            maximize=False,
        )

    @torch.no_grad()
    def forget(self) -> None:
        """Set the moments to those before the first step."""
        for one in (*self._means, *self._squares, *self._steps):
            one.zero_()


class Plateau:
    """Says when a loss has stopped falling, as torch's ``ReduceLROnPlateau`` does.

    Parameters
    ----------
    patience : int
        Epochs without a loss that is lower by one in ten thousand.

    Examples
    --------
    >>> plateau = Plateau(patience=1)
    >>> [plateau.reached(loss) for loss in (1.0, 1.0, 1.0, 0.5, 0.6)]
    [False, False, True, False, False]
    """

    _THRESHOLD = 1e-4

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._best, self._waited = float("inf"), 0

    def reached(self, loss: float) -> bool:
        """Take the loss of an epoch; return whether to lower the learning rate after it."""
        if loss < self._best * (1.0 - self._THRESHOLD):
            self._best, self._waited = loss, 0
            return False
        self._waited += 1
        if self._waited <= self._patience:
            return False
        self._waited = 0
        return True
