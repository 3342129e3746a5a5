"""How well a text reads, from all evidence there is: features, four aspects from 0 to 1, and the score `celadon`."""
