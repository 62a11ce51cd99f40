"""What EM learns: a codec, a standardiser, a denoiser, cutpoints and temperatures."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from tabsoda.diffusion.answers import AnswerHeads
from tabsoda.diffusion.denoiser import Denoiser, build_answering_denoiser, build_denoiser
from tabsoda.diffusion.objective import Objective
from tabsoda.encoding.answer_codec import AnswerCodec
from tabsoda.encoding.cutpoints import Cutpoints
from tabsoda.encoding.standardizer import Standardizer
from tabsoda.encoding.table_codec import TableCodec
from tabsoda.errors import TabSODAError
from tabsoda.settings import Settings
from tabsoda.torch_runtime.keyed_noise import torch_generator


@dataclass(eq=False)
class Model:
    """The learned parts, all on one device.

    Attributes
    ----------
    settings : Settings
        Resolved.
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
    answer_codec : AnswerCodec or None
    heads : AnswerHeads or None
        Both None where the network has no decoder heads.
    members : list of Denoiser
        Further networks, whose answers are averaged with the denoiser's.
    """

    settings: Settings
    seed: int
    device: torch.device
    codec: TableCodec
    denoiser: Denoiser
    cutpoints: Cutpoints
    objective: Objective
    standardizer: Standardizer
    temperatures: NDArray[np.float32]
    answer_codec: AnswerCodec | None = None
    heads: AnswerHeads | None = None
    members: list[Denoiser] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        codec: TableCodec,
        settings: Settings,
        seed: int,
        device: torch.device,
        answer_codec: AnswerCodec | None = None,
    ) -> Model:
        """Return an untrained model; its weights depend on the seed alone, not on the device."""
        layout = codec.layout
        heads = None if answer_codec is None else new_heads(codec, answer_codec)
        n_latent = layout.ordinal_columns.size
        counts = codec.level_counts[layout.ordinal_columns, : layout.max_cutpoints + 1]
        return cls(
            settings=settings,
            seed=seed,
            device=device,
            codec=codec,
            denoiser=new_denoiser(codec, settings, seed, heads).to(device),
            cutpoints=Cutpoints(torch.from_numpy(codec.cutpoints)).to(device),
            objective=Objective(
                layout, settings.loss, settings.noise.data_scale, torch.from_numpy(counts)
            ).to(device),
            standardizer=Standardizer(
                torch.zeros(layout.n_coordinates, device=device),
                torch.ones(layout.n_coordinates, device=device),
            ),
            temperatures=np.ones(n_latent, dtype=np.float32),
            answer_codec=answer_codec,
            heads=None if heads is None else heads.to(device),
        )

    @property
    def networks(self) -> list[Denoiser]:
        """The denoiser and the further members."""
        return [self.denoiser, *self.members]

    @property
    def has_latents(self) -> bool:
        """Whether any ordinal has a latent, and so cutpoints."""
        return self.codec.layout.ordinal_columns.size > 0

    def encoder_cutpoints(self) -> torch.Tensor:
        """Return the cutpoints that encode: the first ones, or the learned ones when shared."""
        if self.settings.encoding.shared_cutpoints:
            return self.cutpoints().detach()
        return torch.from_numpy(self.codec.cutpoints).to(self.device)


def fingerprint(model: Model) -> bytes:
    """Return a hash of the networks' weights, seed and settings: equal for the same fit."""
    whole = hashlib.sha256(repr((model.seed, model.settings.to_dict())).encode())
    for network in model.networks:
        for tensor in network.state_dict().values():
            whole.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return whole.digest()


def diverged(model: Model, what: str) -> TabSODAError:
    """Return the error that tells what to do when training ran away."""
    return TabSODAError(
        f"Training did not converge: {what}. Lower training.learning_rate (now "
        f"{model.settings.training.learning_rate:g}), or look for extreme values in continuous "
        "columns and use encoding.continuous='normal_score'."
    )


def new_heads(codec: TableCodec, answer_codec: AnswerCodec) -> AnswerHeads:
    """Build the decoder heads of a table, on the CPU."""
    columns = codec.categorical_columns
    return AnswerHeads(
        codec.level_counts[columns],
        codec.layout.n_levels[columns],
        answer_codec.ordered,
        answer_codec.bins.counts,
    )


def new_denoiser(
    codec: TableCodec, settings: Settings, seed: int, heads: AnswerHeads | None = None
) -> Denoiser:
    """Build an untrained denoiser on the CPU."""
    generator = torch_generator(seed, "weights")
    if heads is not None:
        return build_answering_denoiser(
            codec.layout, heads, settings.backbone, settings.noise.data_scale, generator
        )
    return build_denoiser(
        # A table in which nothing varies has no coordinate, but its model is saved all the same.
        max(codec.layout.n_coordinates, 1),
        settings.backbone,
        settings.noise.data_scale,
        settings.training.conditioning,
        generator,
    )
