"""When: weekdays, months, years, times of day and dates, the later and the earlier of them.

The first answer token must tell the values of an example apart. So the century stands at the end of a prompt about
years; times have an hour of one digit, as on a clock in the afternoon; and dates begin with their month, have a day of
two digits, and are of one year.
"""

import calendar
import re
from datetime import date

from numberline.tasks.concept import Concept, Sentence, Words, ordered, other_end
from numberline.tasks.concepts.whole_numbers import first_integer

DAYS = range(10, 29)
"""The days of two digits that every month has."""
YEAR = 2023
"""An ordinary year, for the places of dates on an axis."""
MONTH_NAMES = tuple(calendar.month_name)[1:]


def later(noun: str) -> Words:
    """The words for what comes later."""
    return Words(noun, larger="later", largest="latest", smaller="earlier")


WEEKDAYS = ordered(
    "weekdays",
    tuple(calendar.day_name),
    pair=Sentence("The later of", ("Tuesday", "Friday")),
    several=Sentence("The latest of", ("Tuesday", "Friday", "Wednesday")),
    words=later("weekday"),
)
MONTHS = ordered(
    "months",
    MONTH_NAMES,
    pair=Sentence("The later of", ("March", "July")),
    several=Sentence("The latest of", ("May", "June", "April")),
    words=later("month"),
)
YEARS = Concept(
    "years",
    range(1910, 2000),
    spell=str,
    parse=first_integer,
    pair=Sentence("The later of", ("1952", "1914")),
    several=Sentence("The latest of", ("1914", "1952", "1937")),
    words=later("year"),
    gap=10,
    shown="19",
    lead=lambda word: word[2],
    answer_tokens=3,
    axis="year",
)


def minutes(text: str) -> int | None:
    """The first time of day in a text, in minutes after twelve."""
    found = re.search(r"\b([0-9]{1,2}):([0-5][0-9])", text)
    return 60 * int(found.group(1)) + int(found.group(2)) if found else None


TIMES = Concept(
    "times",
    range(60, 600),
    spell=lambda value: f"{value // 60}:{value % 60:02d}",
    parse=minutes,
    pair=Sentence("The later of", ("5:45", "2:30")),
    several=Sentence("The latest of", ("2:30", "5:45", "4:10")),
    words=later("time"),
    gap=60,
    lead=lambda word: word[0],
    answer_tokens=5,
    coordinate=lambda value: value / 60,
    axis="hour",
)


def spelled_date(value: int) -> str:
    """A date of two digits."""
    month, day = divmod(value, len(DAYS))
    return f"{MONTH_NAMES[month]} {DAYS[day]}"


def first_date(text: str) -> int | None:
    """The first of these dates in a text."""
    found = re.search(rf"\b({'|'.join(MONTH_NAMES)}) ([0-9]+)", text)
    if found is None or int(found.group(2)) not in DAYS:
        return None
    return MONTH_NAMES.index(found.group(1)) * len(DAYS) + DAYS.index(int(found.group(2)))


def day_of_year(value: int) -> float:
    """How many days after New Year a date is."""
    month, day = divmod(value, len(DAYS))
    return float((date(YEAR, month + 1, DAYS[day]) - date(YEAR, 1, 1)).days)


DATES = Concept(
    "dates",
    range(len(MONTH_NAMES) * len(DAYS)),
    spell=spelled_date,
    parse=first_date,
    pair=Sentence("The later of", ("July 14", "March 25")),
    several=Sentence("The latest of", ("March 25", "July 14", "May 11")),
    words=later("date"),
    gap=len(DAYS),
    lead=lambda word: word.partition(" ")[0],
    answer_tokens=5,
    coordinate=day_of_year,
    axis="day of the year",
)

EARLIER_WEEKDAYS, EARLIER_MONTHS, EARLIER_YEARS, EARLIER_TIMES, EARLIER_DATES = (
    other_end(concept, f"{concept.name}-earlier", "earlier", "earliest")
    for concept in (WEEKDAYS, MONTHS, YEARS, TIMES, DATES)
)
