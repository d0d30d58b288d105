"""numberline report and numberline show."""


def test_report_draws_and_says_where(call, made_up):
    code, out, err = call("report", str(made_up), "--only", "app-behaviour", "--only", "tab:*")
    assert (code, err) == (0, "")
    assert "1 figures and 1 tables" in out
    assert (made_up / "report.html").exists()


def test_the_whole_number_stands_beside_the_papers(call, made_up):
    code, out, _ = call("show", str(made_up), "k2.whole", "--rows", "2")
    assert code == 0
    assert "beside the paper's on Qwen2.5-7B-Instruct" in out
    lines = [line.split() for line in out.splitlines() if line.startswith("(v1, v2) plane")]
    assert lines == [
        ["(v1,", "v2)", "plane", "y1", "0.500", "[0.460,", "0.540]", "0.810", "0.460", "[0.420,", "0.500]", "0.810"],
        ["(v1,", "v2)", "plane", "y2", "0.500", "[0.460,", "0.540]", "0.948", "0.460", "[0.420,", "0.500]", "0.940"],
    ]
    assert "k2.whole: whole, the first 2 of 34 rows" in out


def test_any_result_can_be_shown(call, made_up):
    code, out, _ = call("show", str(made_up), "behaviour.outcomes", "--rows", "0")
    assert code == 0
    assert "behaviour.outcomes: outcomes, 15 rows" in out
    assert "x_1" in out


def test_refusals_are_one_sentence(call, made_up, tmp_path):
    code, _, err = call("show", str(made_up), "nosuch")
    assert code == 2
    assert "has no result 'nosuch': it has behaviour.operands" in err
    code, _, err = call("report", str(tmp_path))
    assert code == 2
    assert "holds no run" in err
    code, _, err = call("report", str(made_up), "--only", "nosuch")
    assert code == 2
    assert "no figure or table is called 'nosuch'" in err
