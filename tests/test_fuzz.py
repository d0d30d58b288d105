"""Forty damaged run folders, each through a run or another command; `make fuzz`: a thousand, through all of them."""

from collections import Counter

import pytest

from fuzzing import Bench, command, examine

GROUPS = 4
EACH = 10


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    return Bench(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_damaged_folder_is_answered_with_a_sentence_or_a_right_result(bench, group):
    answers = Counter[str]()
    for number in range(group * EACH, (group + 1) * EACH):
        done, wrong, said = examine(bench, number, every=False)
        assert not wrong, (number, done, wrong)
        answers += said
    assert answers["exit 0"] + answers["run went on"] > 0


def test_a_folder_that_is_only_linked_is_refused(bench):
    with bench.copy(-1) as run:
        place = run / "results" / "demo.first"
        place.rename(run.parent / "elsewhere")
        place.symlink_to(run.parent / "elsewhere")
        code, _, err = command("claims", str(run))
    assert code == 2
    assert "demo.first is a link to" in err
