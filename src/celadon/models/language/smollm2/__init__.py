"""SmolLM2-135M for ONNX Runtime: the conversion of its GGUF file, with numpy alone."""

from celadon.models.language.smollm2.conversion import convert

__all__ = ["convert"]
