"""The models that Thinkpane offers for download, each file pinned by revision, size and sha256.

Data only. File names, sizes and hashes come from here and never from a server: what a server
sends is used only when it equals this.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """One file of a model: its plain name, its length and its sha256 in lower-case hex."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """A model that can be downloaded: `files` at commit `revision` of the repository `repo_id`."""

    model_id: str
    label: str
    repo_id: str
    revision: str
    license: str
    files: tuple[CatalogFile, ...]

    @property
    def total_bytes(self) -> int:
        """Bytes of all files together."""
        return sum(file.size_bytes for file in self.files)


# The largest file comes last: a wrong mirror or a login page then shows within the first kilobytes.
CATALOG: tuple[CatalogModel, ...] = (
    CatalogModel(
        model_id="qwen3-0.6b",
        label="Qwen3-0.6B",
        repo_id="Qwen/Qwen3-0.6B",
        revision="c1899de289a04d12100db370d81485cdf75e47ca",
        license="Apache-2.0",
        files=(
            CatalogFile(
                "config.json",
                726,
                "660db3b73d788119c04535e48cf9be5f55bc3100841a718637ae695b442f27dd",
            ),
            CatalogFile(
                "generation_config.json",
                239,
                "2325da0f15bb848e018c5ae071b7943332e9f871d6b60e2ed22ca97d4cb993d2",
            ),
            CatalogFile(
                "tokenizer_config.json",
                9_732,
                "d5d09f07b48c3086c508b30d1c9114bd1189145b74e982a265350c923acd8101",
            ),
            CatalogFile(
                "tokenizer.json",
                11_422_654,
                "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
            ),
            CatalogFile(
                "model.safetensors",
                1_503_300_328,
                "f47f71177f32bcd101b7573ec9171e6a57f4f4d31148d38e382306f42996874b",
            ),
        ),
    ),
)
"""Every model on offer; the first is the one that the wizard suggests."""


def catalog_model(model_id: str) -> CatalogModel:
    """The catalog entry with this id.

    Raises:
        KeyError: the catalog has no such model.
    """
    for model in CATALOG:
        if model.model_id == model_id:
            return model
    raise KeyError(f"no model {model_id!r} in the catalog")
