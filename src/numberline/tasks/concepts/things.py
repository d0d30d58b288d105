"""Things with an order that is knowledge and not notation: letters, planets, animals."""

from string import ascii_uppercase

from numberline.tasks.concept import Sentence, Words, ordered

LETTERS = ordered(
    "letters",
    ascii_uppercase,
    pair=Sentence("The later letter of", ("D", "K")),
    several=Sentence("The latest letter of", ("D", "K", "G")),
    words=Words("letter", larger="later", largest="latest", smaller="earlier"),
    answer_tokens=2,
)
# Without Uranus, which most tokenizers write in more tokens than the others.
PLANETS = ordered(
    "planets",
    ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Neptune"),
    pair=Sentence("Further from the sun, of", ("Venus", "Saturn")),
    several=Sentence("Furthest from the sun, of", ("Venus", "Saturn", "Mars")),
    words=Words("planet", larger="further", largest="furthest", smaller="nearer"),
)
ANIMALS = ordered(
    "animals",
    ("ant", "bee", "mouse", "rat", "rabbit", "cat", "wolf", "lion", "horse", "elephant", "whale"),
    pair=Sentence("The larger animal of", ("wolf", "mouse")),
    several=Sentence("The largest animal of", ("rat", "wolf", "mouse")),
    words=Words("animal", larger="larger", largest="largest", smaller="smaller"),
)
