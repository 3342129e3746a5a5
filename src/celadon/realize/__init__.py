"""FERGUS: unordered dependency trees into sentences (Bangalore, Rambow and Whittaker 2000)."""
