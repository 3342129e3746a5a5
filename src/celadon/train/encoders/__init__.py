"""The sentence encoder and its teacher."""
