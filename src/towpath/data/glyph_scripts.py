"""The characters of the `glyphs` set: code points by script, and which split a script is in.

Some characters, once fitted into the same square, look almost like an earlier one of their script
(mean distance between the pen lines below 1.2 of 64 pixels). They are left out, because no
handwriting could keep them apart. The three splits share no script, and the scripts that borrow
letters from each other (Latin, Greek, Cyrillic, Coptic, Lisu, Old Italic, the phonetic alphabet)
are all in training.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Script:
    """A script's split and its code points, as hexadecimal numbers and ranges."""

    split: str
    codes: str

    @property
    def characters(self) -> list[str]:
        """The characters of the script, in the order of `codes`."""
        characters: list[str] = []
        for run in self.codes.split():
            first, _, last = run.partition("-")
            characters += map(chr, range(int(first, 16), int(last or first, 16) + 1))
        return characters


SCRIPTS = {
    "Latin": Script(
        "train",
        "0041-0048 004A-005A 0061-0062 0064-006A 006D-006E 0071-0072 0074 0079 00DF 00E6 "
        "00F0 00FE 014B",
    ),
    "Phonetic": Script(
        "train",
        "0250 0253-0258 025A-025C 025E-0260 0262-0268 026A-026C 026E 0270-0271 0273 "
        "0276-027A 027D 0281 0283 0286 0288-028B 028E 0290 0292-0294 0296 0298 029D-029E "
        "02A0 02A2 02A4 02A7-02A8",
    ),
    "Greek": Script(
        "train",
        "0393-0394 0398 039B 039E 03A0 03A3 03A6 03A8-03A9 03B1-03BE 03C0-03C7 03C9 "
        "03D6-03D8 03DA 03DC 03DE 03E0",
    ),
    "Cyrillic": Script(
        "train",
        "0402 0404 0407 0409-040B 040F 0411 0413-0414 0416-0419 041B 041F 0424 0426-0432 "
        "0435 0443 0460 0462 0464 0466 0468 046A 046C 046E 0470 0474 0496 049A 04A2 04A8 "
        "04AE 04B4 04BA 04D4 04D8 04E0",
    ),
    "Armenian": Script(
        "train",
        "0531-0541 0543-054C 054E 0550 0552-0556 0561-0565 0567-0570 0573-0577 0579-0581 "
        "0583-0584 0586",
    ),
    "Arabic": Script(
        "train",
        "0621-0622 0624-0626 0628-062C 062E-0634 0636-0637 0639-063A 0641-064A 0679 067E "
        "0688 0691 0698 06A9 06AF 06BA 06BE",
    ),
    "Lisu": Script(
        "train",
        "A4D0-A4E7 A4E9-A4F6",
    ),
    "Old Italic": Script(
        "train",
        "10300-1031E 10323",
    ),
    "Ogham": Script(
        "train",
        "1681-1693 1695-169A",
    ),
    "Coptic": Script(
        "train",
        "03E2 03E4 03E6-03E8 03EA 03EC-03EE",
    ),
    "Canadian syllabics": Script(
        "train",
        "1401 1403 1405 140A 142F 1431 1433 1438 144C 144E 1450 1455 146B 146D 146F 1472 "
        "1489 148B 148D 1490 14A3 14A5 14A7 14AA 14C0 14C2 14C4 14C7 14D3 14D5 14D7 14DA "
        "14ED 14EF 14F1 14F4 1510-1511 1513 1515 1526 1528 152A 152D 1542 1546 1548 154B "
        "1553 1555 1557 1559 155E 1560 1562 1564 1574-1575 1577 1579 157F 1581 1583 "
        "158A-158D 158F 1591 1593 15A0 15A2 15A4",
    ),
    "Asomtavruli": Script(
        "validation",
        "10A0-10B2 10B4-10B6 10B8-10C5",
    ),
    "N'Ko": Script(
        "validation",
        "07C0-07C3 07C5-07E5",
    ),
    "Georgian": Script(
        "test",
        "10D0-10DA 10DE-10E2 10E4-10EA 10ED 10EF 10F1-10F2 10F4-10F6",
    ),
    "Hebrew": Script(
        "test",
        "05D0-05D8 05DA-05DE 05E0 05E2-05EA",
    ),
    "Tifinagh": Script(
        "test",
        "2D30-2D31 2D33-2D3F 2D41-2D4E 2D50-2D58 2D5A-2D5C 2D5E 2D60-2D64",
    ),
    "Lao": Script(
        "test",
        "0E81-0E82 0E84 0E87-0E88 0E8A 0E8D 0E94-0E97 0E99-0E9E 0EA1 0EA3 0EA5 0EA7 "
        "0EAA-0EAB 0EAE 0ED0-0ED9",
    ),
}
