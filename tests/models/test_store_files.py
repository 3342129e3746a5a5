"""Manifests, the catalog, models of the package, conversion, import and removal."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from celadon.core import CeladonError, InputError, MissingPartError, UsageError
from celadon.models.store import (
    DamagedError,
    folder_of,
    home,
    import_model,
    known_models,
    load_catalog,
    manifest,
    remove_model,
    unigram_path,
    verify,
    write_manifest,
)
from celadon.models.store.catalog import CONVERTERS
from celadon.models.store.importing import add_file
from tests.models.store_parts import FILE, Hub, catalog, hub_source, pin, running, tree, weights

CONTENT = weights(4000)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CELADON_OFFLINE", raising=False)
    monkeypatch.delenv("CELADON_CATALOG", raising=False)


def model_folder(path: Path) -> Path:
    """A folder in the form of celadon-lm; its graph is no graph, which the store does not look into."""
    path.mkdir(parents=True)
    (path / "model.json").write_text(json.dumps({"format": "celadon-lm/1", "kind": "onnx", "name": "mine"}))
    (path / "tokenizer.json").write_text("{}")
    (path / "model.onnx").write_bytes(b"\x08\x07graph")
    (path / "model.bin").write_bytes(np.arange(9, dtype=np.float32).tobytes())
    (path / "card.md").write_text("# Mine\nTrained on nothing.\n")
    np.save(path / "unigrams.npy", np.log(np.full(7, 1 / 7, dtype=np.float32)))
    return path


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
def test_any_change_of_any_file_is_found(tmp_path: Path, data: st.DataObject) -> None:
    folder = tmp_path / "model"
    shutil.rmtree(folder, ignore_errors=True)
    write_manifest(model_folder(folder))
    verify(folder)
    file = data.draw(st.sampled_from(sorted(path for path in folder.iterdir() if path.name != "manifest.json")))
    content = bytearray(file.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[at] ^= data.draw(st.integers(1, 255))
    else:
        del content[at:]
    file.write_bytes(content)
    with pytest.raises(DamagedError, match=file.name):
        verify(folder)


def test_a_file_that_did_not_change_is_not_hashed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model_folder(tmp_path / "model")
    write_manifest(folder)
    hashed: list[str] = []
    original = manifest.sha256_of

    def counted(path: Path, bar: Any = None) -> str:
        hashed.append(path.name)
        return original(path, bar)

    monkeypatch.setattr(manifest, "sha256_of", counted)
    time.sleep(0.15)
    verify(folder)
    assert len(hashed) == 6
    verify(folder)
    assert len(hashed) == 6
    (folder / "card.md").touch()
    verify(folder)
    assert hashed[6:] == ["card.md"]
    verify(folder, full=True)
    assert len(hashed) == 13


def test_a_change_in_the_tick_of_the_check_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for _ in range(20):
        (folder / "a.txt").write_bytes(b"right")
        write_manifest(folder)
        verify(folder)
        (folder / "a.txt").write_bytes(b"wrong")
        with pytest.raises(DamagedError):
            verify(folder)


def test_links_and_strangers_are_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    write_manifest(folder)
    (folder / ".hidden").write_text("passed over")
    verify(folder)
    (folder / "stranger.txt").write_text("x")
    with pytest.raises(DamagedError, match=r"stranger\.txt"):
        verify(folder)
    verify(folder, strict=False)
    (folder / "stranger.txt").unlink()
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(DamagedError, match="regular"):
        verify(folder)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "celadon-manifest/2"}', '{"format": "celadon-manifest/1", "files": 3}']
)
def test_a_broken_manifest_is_told(tmp_path: Path, text: str) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / "manifest.json").write_text(text)
    with pytest.raises(DamagedError, match=r"manifest\.json"):
        verify(folder)


def test_a_model_of_the_package_is_verified_and_never_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "package" / "mine"
    entry = {"kind": "language model", "about": "a", "license": "MIT", "builtin": str(inside), "aliases": ["ours"]}
    path = catalog(tmp_path / "catalog.json", {FILE: CONTENT}, [hub_source(FILE)], {"mine": entry})
    monkeypatch.setenv("CELADON_CATALOG", str(path))
    with pytest.raises(MissingPartError, match="not in this installation"):
        folder_of("mine")
    model_folder(inside)
    with pytest.raises(MissingPartError, match=r"manifest\.json: is missing.*install celadon again"):
        folder_of("mine")
    write_manifest(inside)
    assert folder_of("ours") == inside
    with pytest.raises(UsageError, match="comes with the package"):
        remove_model("mine")
    (inside / "model.bin").write_bytes(b"\0" * 36)
    with pytest.raises(MissingPartError, match=r"model\.bin: was altered.*install celadon again"):
        folder_of("mine")
    assert inside.is_dir()


def test_names_come_before_folders_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model_folder(tmp_path / "smollm2")
    model_folder(tmp_path / "other")
    with pytest.raises(MissingPartError):
        folder_of("smollm2", offline=True)
    assert folder_of("./smollm2") == Path("smollm2")
    assert folder_of("other") == Path("other")
    write_manifest(tmp_path / "other")
    (tmp_path / "other" / "model.bin").write_bytes(b"")
    with pytest.raises(InputError, match=r"if the change is meant, delete other/manifest\.json"):
        folder_of("other")
    for nothing in ("no-such-model", "", "./nothing", "x" * 5000, "./" + "x" * 5000, "~nobody/x", "hf:gpt2", "a\0b"):
        with pytest.raises(CeladonError):
            folder_of(nothing)


def test_the_packages_catalog_can_be_read() -> None:
    models = load_catalog().models
    assert {"builtin", "builtin-word", "builtin-encoder", "builtin-vectors", "builtin-grammar"} <= set(models)
    assert {"smollm2", "smollm2-int8", "minilm", "spacy-sm"} <= set(models)
    assert load_catalog().get("standard") == models["smollm2"]
    assert models["smollm2"].download == models["smollm2-int8"].download


def _changed(**change: Any) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "format": "celadon-catalog/1",
        "downloads": {"raw": {"files": {FILE: pin(CONTENT)}, "sources": [hub_source(FILE)]}},
        "models": {"tiny": {"kind": "weights", "about": "a", "license": "MIT", "download": "raw"}},
    }
    for path, value in change.items():
        at = raw
        *way, last = path.split("__")
        for step in way:
            at = at[step]
        at[last] = value
    return raw


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ([], "is not a JSON object, as a catalog must be"),
        (_changed(format="celadon-catalog/9"), "its format is not celadon-catalog/1"),
        (_changed(downloads__raw__files={"a.py": pin(b"")}), "a.py is not a weight file"),
        (_changed(downloads__raw__files={"a.pkl": pin(b"")}), "a.pkl is not a weight file"),
        (_changed(downloads__raw__files={"../a.npy": pin(b"")}), "not a plain file name"),
        (_changed(downloads__raw__files={"/a.npy": pin(b"")}), "not a plain file name"),
        (
            _changed(downloads__raw__files={FILE: {"size": 3, "sha256": "abc"}}),
            "sha256: expected a text matching",
        ),
        (_changed(downloads__raw__files={FILE: {"size": 3}}), "downloads.raw.files.*.sha256: is missing"),
        (
            _changed(downloads__raw__sources=[{**hub_source(FILE), "revision": "main"}]),
            "revision: expected a text matching",
        ),
        (
            _changed(downloads__raw__sources=[{**hub_source(FILE), "kind": "torrent"}]),
            "kind: invalid value 'torrent'",
        ),
        (_changed(downloads__raw__sources=[hub_source("other.npy")]), "does not name the same files"),
        (_changed(models__tiny__download="nothing"), "no download called 'nothing'"),
        (_changed(models__tiny__convert="magic"), "nothing converts 'magic'"),
        (_changed(models={"../tiny": _changed()["models"]["tiny"]}), "cannot be a model's name"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_catalog_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: Any, told: str) -> None:
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps(raw))
    monkeypatch.setenv("CELADON_CATALOG", str(path))
    with pytest.raises(InputError, match=f"catalog.json: .*{told}"):
        load_catalog()


@pytest.fixture
def converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Two models made from the same fetched file."""
    monkeypatch.setitem(CONVERTERS, "stand-in", "tests.models.store_parts")
    entry = {"kind": "language model", "about": "a", "license": "MIT", "download": "raw", "convert": "stand-in"}
    models = {f"lm-{p}": {**entry, "precision": p, "size": 100, "recipe": 1} for p in ("fp32", "int8")}
    path = catalog(tmp_path / "catalog.json", {"raw.gguf": CONTENT}, [hub_source("raw.gguf")], models)
    with running(Hub({"raw.gguf": CONTENT})) as hub:
        monkeypatch.setenv("CELADON_CATALOG", str(path))
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield hub


def test_one_download_serves_two_conversions(converted: Hub) -> None:
    one = tree(folder_of("lm-fp32"))
    other = tree(folder_of("lm-int8", offline=True))
    assert one["model.onnx"][:4] == b"fp32"
    assert other["model.onnx"][:4] == b"int8"
    assert converted.requests == [""]
    # a damaged model is made again without the network; a damaged download is not
    (home() / "models" / "lm-fp32" / "model.onnx").write_bytes(b"?")
    assert tree(folder_of("lm-fp32", offline=True)) == one
    (home() / "models" / "lm-fp32" / "model.onnx").write_bytes(b"?")
    (home() / "downloads" / "raw" / "raw.gguf").write_bytes(b"?")
    with pytest.raises(MissingPartError, match="is damaged"):
        folder_of("lm-fp32", offline=True)
    assert tree(folder_of("lm-fp32")) == one
    assert converted.requests == ["", ""]


def test_what_the_user_added_outlives_a_repair(converted: Hub) -> None:
    folder = folder_of("lm-fp32")
    add_file("lm-fp32", "unigrams.npy", b"table", lambda line: None)
    made = tree(folder_of("lm-fp32", offline=True))
    assert made["unigrams.npy"] == b"table"
    (folder / "model.onnx").write_bytes(b"?")
    assert tree(folder_of("lm-fp32")) == made
    # but not damage of its own
    (folder / "unigrams.npy").write_bytes(b"other")
    assert "unigrams.npy" not in tree(folder_of("lm-fp32"))


def test_a_newer_recipe_makes_the_model_again(converted: Hub, tmp_path: Path) -> None:
    folder = folder_of("lm-fp32")
    before = folder.stat().st_ino
    raw = json.loads((tmp_path / "catalog.json").read_text())
    raw["models"]["lm-fp32"]["recipe"] = 2
    (tmp_path / "catalog.json").write_text(json.dumps(raw))
    assert folder_of("lm-fp32").stat().st_ino != before


def test_the_fetched_file_goes_with_the_last_of_its_models(converted: Hub) -> None:
    for name in ("lm-fp32", "lm-int8"):
        folder_of(name)
    download = home() / "downloads" / "raw"
    assert remove_model("lm-fp32") == [home() / "models" / "lm-fp32"]
    assert download.is_dir()
    assert remove_model("lm-int8") == [home() / "models" / "lm-int8", download]
    assert not download.exists()
    for name in ("lm-int8", "unknown", "hf:gpt2"):
        with pytest.raises(UsageError):
            remove_model(name)


def test_a_conversion_that_fails_leaves_no_model(converted: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.models import store_parts

    def fail(file: Path, into: Path, precision: str, progress: Any) -> None:
        (into / "model.onnx").write_bytes(b"half")
        raise InputError("cannot be converted")

    with monkeypatch.context() as context:
        context.setattr(store_parts, "convert", fail)
        with pytest.raises(InputError, match="cannot be converted"):
            folder_of("lm-fp32")
    assert not (home() / "models" / "lm-fp32").exists()
    assert folder_of("lm-fp32", offline=True).is_dir()


def test_an_imported_folder_is_a_verified_copy(tmp_path: Path) -> None:
    source = model_folder(tmp_path / "My LM")
    assert import_model(source) == "my-lm"
    folder = folder_of("my-lm")
    copy = tree(folder)
    del copy["manifest.json"]
    assert copy == tree(source)
    assert [known.where for known in known_models() if known.name == "my-lm"] == ["in cache (imported)"]
    with pytest.raises(UsageError, match="already in the cache"):
        import_model(source)
    (folder / "model.bin").write_bytes(b"?" * 36)
    with pytest.raises(MissingPartError, match="celadon models remove my-lm, and import it again"):
        folder_of("my-lm")
    remove_model("my-lm")
    assert not folder.exists()


def test_a_single_weight_file_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "glove.6B.50d.txt").write_text("the 0.1 0.2\n")
    assert import_model(tmp_path / "glove.6B.50d.txt") == "glove.6b.50d"
    assert (folder_of("glove.6b.50d") / "glove.6B.50d.txt").read_text() == "the 0.1 0.2\n"


@pytest.mark.parametrize("name", ["smollm2", "standard", "builtin", "../up", "", "a b"])
def test_a_name_that_cannot_be_given_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        import_model(model_folder(tmp_path / "mine"), name)


def _spoil(folder: Path, how: str) -> None:
    if how == "pickle":
        (folder / "model.bin").write_bytes(pickle.dumps({"a": 1}))
    elif how == "objects":
        np.save(folder / "unigrams.npy", np.array([{}], dtype=object), allow_pickle=True)
    elif how == "zip":
        with zipfile.ZipFile(folder / "model.bin", "w") as archive:
            archive.writestr("data.pkl", b"x")
    elif how == "code":
        (folder / "model.py").write_text("print()")
    elif how == "link":
        (folder / "model.bin").unlink()
        (folder / "model.bin").symlink_to("/etc/hostname")
    elif how == "no graph":
        (folder / "model.onnx").unlink()
    elif how == "no description":
        (folder / "model.json").unlink()
    elif how == "other format":
        (folder / "model.json").write_text('{"format": "celadon-lm/9", "kind": "onnx"}')
    elif how == "infinite":
        np.save(folder / "unigrams.npy", np.full(7, -np.inf, dtype=np.float32))


@pytest.mark.parametrize(
    "how",
    ["pickle", "objects", "zip", "code", "link", "no graph", "no description", "other format", "infinite"],
)
def test_what_is_not_a_model_is_not_imported(tmp_path: Path, how: str) -> None:
    folder = model_folder(tmp_path / "mine")
    _spoil(folder, how)
    with pytest.raises(InputError):
        import_model(folder)
    assert not (home() / "models" / "mine").exists()


def test_files_that_are_not_weights_are_not_imported(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(b"x")
    (tmp_path / "model.safetensors").write_bytes(pickle.dumps([1]))
    (tmp_path / "link.txt").symlink_to("/etc/hostname")
    for name in ("model.pt", "model.safetensors", "link.txt", "nothing.txt"):
        with pytest.raises(InputError):
            import_model(tmp_path / name)


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_model_of_the_hub_has_a_table_of_its_own(one: str, other: str) -> None:
    path = unigram_path(f"hf:{one}")
    assert path.parent == home() / "unigrams"
    assert len(os.fsencode(path.name)) < 120
    same_folder = os.path.isdir(one) and os.path.isdir(other) and os.path.samefile(one, other)  # noqa: PTH112, PTH121
    assert (path == unigram_path(f"hf:{other}")) == (one == other or same_folder)


def test_a_folder_has_one_table_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "checkpoint").mkdir()
    monkeypatch.chdir(tmp_path)
    assert (
        unigram_path("hf:checkpoint") == unigram_path(f"hf:{tmp_path}/checkpoint") == unigram_path("hf:./checkpoint/")
    )
