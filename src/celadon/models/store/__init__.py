"""The model store: where weights come from, and that they are what they should be."""

from celadon.models.store.catalog import Catalog, Model, load_catalog
from celadon.models.store.importing import import_model, remove_model
from celadon.models.store.listing import (
    Known,
    ShippedPart,
    known_model,
    known_models,
    license_expression,
    license_table,
    shipped_parts,
)
from celadon.models.store.manifest import DamagedError, Manifest, read_manifest, verify, write_manifest
from celadon.models.store.places import home, is_offline, size_text, unigram_path
from celadon.models.store.resolving import folder_of

__all__ = [
    "Catalog",
    "DamagedError",
    "Known",
    "Manifest",
    "Model",
    "ShippedPart",
    "folder_of",
    "home",
    "import_model",
    "is_offline",
    "known_model",
    "known_models",
    "license_expression",
    "license_table",
    "load_catalog",
    "read_manifest",
    "remove_model",
    "shipped_parts",
    "size_text",
    "unigram_path",
    "verify",
    "write_manifest",
]
