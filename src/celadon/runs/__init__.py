"""Files and folders of shards, scored in one process, in several, or on Ray."""
