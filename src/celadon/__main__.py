"""``python -m celadon``."""

import sys

from celadon.cli import main

sys.exit(main())
