"""What a failure looks like to the user."""


def one_clear_sentence(text: str) -> bool:
    return text.count("\n") == 1 and "Traceback" not in text and "usage:" not in text
