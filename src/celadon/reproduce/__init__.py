"""The papers' tables made again from public judgements, ours beside theirs: how every figure of the project is made."""
