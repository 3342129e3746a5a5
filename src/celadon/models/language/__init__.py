"""Language models behind one protocol: texts in, scored tokens out."""
