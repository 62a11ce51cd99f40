"""The fitted model: codec, standardiser, denoiser, cutpoints and temperatures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.errors import TabSODAError
from tabsoda.paper.codec import TableCodec
from tabsoda.paper.cutpoints import Cutpoints
from tabsoda.paper.denoiser import Denoiser, build_denoiser
from tabsoda.paper.objective import Objective
from tabsoda.paper.settings import PaperSettings
from tabsoda.paper.standardizer import Standardizer
from tabsoda.torch_runtime.keyed_noise import torch_generator


@dataclass(eq=False)
class Model:
    """The parts of the model, all on one device.

    Attributes
    ----------
    settings : PaperSettings
        With ``"auto"`` resolved.
    seed : int
    device : torch.device
    codec : TableCodec
        Its cutpoints are the encoder's.
    denoiser : Denoiser
    cutpoints : Cutpoints
        The decoder's, learned.
    objective : Objective
    standardizer : Standardizer
    temperatures : ndarray of float32, shape (n_latent,)
    """

    settings: PaperSettings
    seed: int
    device: torch.device
    codec: TableCodec
    denoiser: Denoiser
    cutpoints: Cutpoints
    objective: Objective
    standardizer: Standardizer
    temperatures: NDArray[np.float32]

    @classmethod
    def start(
        cls,
        codec: TableCodec,
        settings: PaperSettings,
        seed: int,
        device: torch.device,
    ) -> Model:
        """Return an untrained model; its weights depend only on the seed, not on the device."""
        layout = codec.layout
        n_latent = layout.ordinal_columns.size
        counts = codec.level_counts[layout.ordinal_columns, : layout.max_cutpoints + 1]
        return cls(
            settings=settings,
            seed=seed,
            device=device,
            codec=codec,
            denoiser=new_denoiser(codec, settings, seed).to(device),
            cutpoints=Cutpoints(torch.from_numpy(codec.cutpoints)).to(device),
            objective=Objective(
                layout, settings.loss, settings.noise.data_scale, torch.from_numpy(counts)
            ).to(device),
            standardizer=Standardizer(
                torch.zeros(layout.n_coordinates, device=device),
                torch.ones(layout.n_coordinates, device=device),
            ),
            temperatures=np.ones(n_latent, dtype=np.float32),
        )

    @property
    def has_latents(self) -> bool:
        """Return whether any ordinal has a latent, and so cutpoints."""
        return self.codec.layout.ordinal_columns.size > 0

    def encoder_cutpoints(self) -> torch.Tensor:
        """Return the encoder's cutpoints: the initial ones, or the learned ones if shared."""
        if self.settings.encoding.shared_cutpoints:
            return self.cutpoints().detach()
        return torch.from_numpy(self.codec.cutpoints).to(self.device)


def diverged(model: Model, what: str) -> TabSODAError:
    """Return the error for training that did not converge, with advice."""
    return TabSODAError(
        f"Training did not converge: {what}. Lower training.learning_rate (now "
        f"{model.settings.training.learning_rate:g}), or look for extreme values in continuous "
        "columns and use encoding.continuous='normal_score'."
    )


def new_denoiser(codec: TableCodec, settings: PaperSettings, seed: int) -> Denoiser:
    """Build an untrained denoiser on the CPU."""
    return build_denoiser(
        # A constant table has no coordinates, but its model can still be saved.
        max(codec.layout.n_coordinates, 1),
        settings.backbone,
        settings.noise.data_scale,
        settings.training.conditioning,
        torch_generator(seed, "weights"),
    )
