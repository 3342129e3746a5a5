"""What the pages themselves say, so that an experiment can say it in another language."""

from __future__ import annotations

WORDS = {
    "agree": "I agree, begin",
    "answer_all": "Some answers are missing or cannot be read. They are marked below.",
    "answers_changed": "You are changing answers that you gave before.",
    "back": "Back",
    "begin": "Begin",
    "break": "Time for a short break. Your answers are saved; go on when you like.",
    "code": "Your completion code",
    "code_link": "Go back to where you came from",
    "consent": "Before you begin",
    "context": "Context",
    "done": "Thank you. You have finished.",
    "done_note": "All of your answers are saved. You may close this page.",
    "full": "This study has all the answers it needs. Thank you for your interest.",
    "instructions": "What to do",
    "instructions_again": "Read the instructions again",
    "missing_choice": "Please choose one.",
    "missing_number": "Please write a number above zero, such as 50 or 2.5.",
    "missing_text": "The text is empty. Please write the repaired text.",
    "next": "Next",
    "number": "Your number",
    "page_of": "Page {page} of {pages}",
    "person": "You are {person} in this study.",
    "practice": "Practice: this answer does not count.",
    "reference": "The reference sentence",
    "reference_value": "Its number is {value}.",
    "repair": "The text, for you to repair",
    "text": "Text",
    "unchanged": "The text needs no repair",
    "unchanged_not_ticked": "You have not changed the text. Repair it, or tick the box below it.",
}
"""Every phrase by its name; an experiment's ``[words]`` may replace any of them."""
