"""``celadon check``: limits that texts must keep."""
