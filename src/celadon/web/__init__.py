"""What the judgment experiment and the scoring service share: HTTP, safely."""
