"""The pages: rendered on the server, usable without scripts."""
