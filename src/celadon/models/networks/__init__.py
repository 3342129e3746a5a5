"""What language models and encoders share: ONNX graphs, networks of transformers, windows over long texts."""
