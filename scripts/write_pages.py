"""Write what the documentation shows of lists in the code: docs/choices.md, and the table of docs/claims.md.

python scripts/write_pages.py
"""

from pathlib import Path

from numberline.claims import calibration
from numberline.report import choices

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Both pages."""
    (ROOT / choices.PAGE).write_text(choices.markdown(), encoding="utf-8")
    claims = ROOT / calibration.PAGE
    claims.write_text(calibration.page(claims.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
