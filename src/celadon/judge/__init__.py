"""The judgment experiment: people read texts on web pages, and a table of ratings comes of it.

An experiment is a folder (``experiment``) with a readable config (``config``), the texts (``items``) and the keys that
links are signed with (``keys``). ``assignment`` says who sees what, ``store`` keeps the answers, ``web`` asks for them,
``export`` and ``analysis`` make tables of them.
"""
