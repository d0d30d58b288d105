"""One style: colours that are told apart, letters, error bars of one standard error, a note on smaller runs."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from numberline.report import panels, style

# What a deuteranope and a protanope see (Viénot, Brettel and Mollon 1999), on linear RGB.
DEUTERANOPE = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
PROTANOPE = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])


def seen(colour: str, eye: np.ndarray) -> np.ndarray:
    linear = np.array(to_rgb(colour)) ** 2.2
    return np.clip(eye @ linear, 0, 1) ** (1 / 2.2)


@pytest.mark.parametrize("eye", [np.eye(3), DEUTERANOPE, PROTANOPE], ids=["all cones", "deuteranope", "protanope"])
@pytest.mark.parametrize(
    "together", [("y1", "y2"), ("u", "v1", "v2"), ("full", "u", "pc1", "random"), ("flag", "both")]
)
def test_colours_that_stand_together_are_told_apart(eye, together):
    for first, second in combinations(together, 2):
        difference = np.linalg.norm(seen(style.colour(first), eye) - seen(style.colour(second), eye))
        assert difference > 0.15, (first, second)


def test_a_number_and_its_direction_have_one_colour():
    assert style.colour("y1") == style.colour("v1")
    assert style.colour("y2") == style.colour("v2")
    assert style.colour("nothing of this name") == style.COLOURS["baseline"]


def test_text_is_readable_in_a_column():
    sizes = ("font.size", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
    assert all(style.RC[name] >= 6 for name in sizes)
    assert style.RC["pdf.fonttype"] == 42, "publishers refuse Type 3 fonts"


def test_error_bars_are_the_intervals_of_the_tables():
    axes = Figure().subplots()
    panels.bars(axes, ["a"], {"s": [{"mean": 0.5, "se": 0.1, "n": 8, "lo": 0.1, "hi": 0.8}]}, {"s": "k"})
    (line,) = axes.containers[-1].lines[2]
    assert np.allclose(line.get_segments()[0][:, 1], [0.1, 0.8])


def test_a_missing_bar_leaves_its_place_empty():
    axes = Figure().subplots()
    panels.bars(axes, ["a", "b"], {"s": [None, {"mean": 0.5, "n": 8, "lo": 0.4, "hi": 0.6}]}, {"s": "k"})
    assert [patch.get_x() > 0.5 for patch in axes.patches] == [True]


@pytest.mark.parametrize(
    ("scores", "top"), [((0.2, 0.9), 1.3), ((0.2, 1.2), 1.56), ((0.2, 2.0), 2.6), ((-0.5, 2.0), 2.0 + 0.3 * 2.625)]
)
def test_a_scores_axis_has_the_same_room_above_whatever_the_scores(scores, top):
    axes = Figure().subplots()
    axes.bar(range(2), scores)
    panels.unit_range(axes, 0.3)
    assert axes.get_ylim()[1] == pytest.approx(top)
    assert axes.get_ylim()[0] == (0 if min(scores) >= 0 else pytest.approx(-0.625))
    panels.unit_range(axes, 0.3)
    assert axes.get_ylim()[1] == pytest.approx(top), "a second time adds no room"


def test_panels_that_share_an_axis_have_room_for_the_larger():
    first, second = Figure().subplots(1, 2, sharey=True)
    for axes, score in ((first, 2.0), (second, 0.5)):
        axes.bar([0], [score])
        panels.unit_range(axes, 0.3)
    assert first.get_ylim() == second.get_ylim() == pytest.approx((0, 2.6))


def test_the_note_has_space_of_its_own():
    page = style.page(4, 2)
    axes = page.subplots()
    style.note(page, "quick run: 64 evaluation examples")
    page.draw_without_rendering()
    low = axes.get_tightbbox().y0
    assert page.texts[0].get_window_extent().y1 <= low


def test_no_note_changes_nothing():
    page = style.page(4, 2)
    style.note(page, "")
    assert page.texts == []


def test_smoothing_keeps_a_line():
    values = np.arange(10, 100)
    points = np.stack([values * 2.0, np.ones(90)], 1)
    middle = panels.smoothed(values, points)[20:-20]
    assert np.allclose(middle, points[20:-20], atol=1e-3)


def test_an_arrow_points_where_the_direction_does():
    axes = Figure().subplots()
    axes.set(xlim=(-10, 10), ylim=(-1, 1))
    panels.arrow(axes, np.array([3.0, -0.1]), "u", "k")
    (tip, start) = axes.texts[0].xy, axes.texts[0].xyann
    assert tip[0] > start[0]
    assert tip[1] < start[1]
    assert axes.get_xlim() == (-10, 10)
