"""Sentences of our own for the tests of damage: plain, questions, lists, names, numbers, quotes."""

SENTENCES = (
    "The old hotel near the river is open from Monday to Friday.",
    "She has written three books about the history of the town.",
    "He was born in London in 1952 and moved to Paris with his family.",
    "They are looking for a cheap restaurant that serves Indian food.",
    "Do you want to book a table for two people at the Golden Lion?",
    "The company said that it would close a factory because of the lack of orders.",
    "An apple a day keeps the doctor away, but it must be a good one.",
    "In the summer many tourists visit this small village in the mountains.",
    "It is better to wait than to drive through the storm.",
    "The phone number of the Royal Hotel is 555-1234.",
    "We can't go there tonight because the road is closed.",
    'The mayor (who was elected in 2010) called the plan "a gift to the city".',
    "Several members of the committee have left, and nobody knows why.",
    "A new bridge was built by the army after the war.",
    "I will call her when the train arrives at the station.",
    "The importance of clean water was not understood until the nineteenth century.",
)
