"""Which words does a run write down for its report? Those of its concept, and how each of its values is written."""

from numberline.results.language import Language
from numberline.tasks.concept import Concept
from numberline.tasks.task import Task


def language_of(concept: Concept) -> Language:
    """What a report needs of a concept."""
    task, words, values = Task(concept), concept.words, concept.values
    # Of two digits these are 60 and 10, as in the paper's figures.
    example = (values[len(values) * 5 // 9], values[0])
    return Language(
        name=concept.name,
        function=words.function,
        question=task.question(example).strip(),
        example=(concept.spell(example[0]), concept.spell(example[1])),
        noun=words.noun,
        nouns=words.nouns,
        larger=words.larger,
        largest=words.largest,
        smaller=words.smaller,
        extreme=words.extreme,
        extremes=words.extremes,
        adjective=words.adjective,
        part=words.part,
        mixed=concept.mixed is not None,
        sign=concept.sign,
        scale=concept.scale,
        axis=concept.axis,
        extent=task.extent,
        middle=concept.spell(values[len(values) // 2]),
        spelled={value: concept.spell(value) for value in values if concept.spell(value) != str(value)},
        coordinates={value: concept.coordinate(value) for value in values if concept.coordinate(value) != value},
    )
