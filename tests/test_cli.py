import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.svm import LinearSVC

import taupath
from taupath import cli
from taupath.commands import breast_cancer, demo


@pytest.fixture(scope="module")
def demo_lines(tmp_path_factory):
    output = str(tmp_path_factory.mktemp("demo") / "demo.html")
    return list(demo.lines(breast_cancer.BreastCancer(), output))


def table_rows(lines):
    """The numbers of the table: cost_fn, cost_fp, τ, found, its share in %, missed, cleared, its
    share, false alarms, cost, cost without the model, share saved."""
    rows = [re.findall(r"[\d.]+", line) for line in lines if re.match(r" +\d+ : \d+ ", line)]
    return np.array(rows, dtype=float)


class TestDemo:
    def test_main_prints_the_report_and_returns_0(self, capsys, tmp_path):
        assert cli.main(["demo", "-o", str(tmp_path / "demo.html")]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert table_rows(out.splitlines()).shape == (len(breast_cancer.COST_RATIOS), 12)

    def test_data_are_written_for_other_commands(self, tmp_path, capsys):
        page, model = tmp_path / "demo.html", tmp_path / "model.tau"
        assert cli.main(["demo", "-o", str(page), "--data", str(tmp_path), "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)["at"]
        train, test = str(tmp_path / "train.csv"), str(tmp_path / "test.csv")
        assert (
            cli.main(["fit", train, "-o", str(model), "--standardize", "--C", str(breast_cancer.C)])
            == 0
        )
        capsys.readouterr()
        costs = ["--cost-fp", "1", "--cost-fn", "20", "--json"]
        assert cli.main(["evaluate", str(model), test, *costs]) == 0
        found = json.loads(capsys.readouterr().out)["at"]
        k = found["tau"].index(1 / 21)
        assert {name: column[0] for name, column in shown.items()} == {
            name: column[k] for name, column in found.items()
        }

    def test_tau_is_the_share_of_the_false_alarm(self, demo_lines):
        rows = table_rows(demo_lines)
        np.testing.assert_allclose(rows[:, 2], rows[:, 1] / rows[:, :2].sum(axis=1), atol=6e-4)

    def test_counts_and_costs_are_those_of_separate_fits(self, demo_lines):
        X_train, X_test, y_train, y_test = breast_cancer.standardized_halves()
        for cost_fn, cost_fp, _, *shown in table_rows(demo_lines):
            tau = cost_fp / (cost_fp + cost_fn)
            svm = LinearSVC(
                loss="hinge",
                C=breast_cancer.C,
                class_weight={1: 2 * (1 - tau), -1: 2 * tau},
                tol=1e-8,
                max_iter=1_000_000,
                random_state=0,
            ).fit(X_train, y_train)
            tn, fp, fn, tp = confusion_matrix(y_test, svm.predict(X_test)).ravel()
            cost, without = (
                cost_fp * fp + cost_fn * fn,
                min(cost_fp * (tn + fp), cost_fn * (tp + fn)),
            )
            found, cleared = 100 * tp / (tp + fn), 100 * tn / (tn + fp)
            expected = [tp, found, fn, tn, cleared, fp, cost, without, 100 * (1 - cost / without)]
            np.testing.assert_allclose(shown, expected, atol=0.51, err_msg=f"τ = {tau}")

    def test_misses_fall_when_a_miss_costs_more(self, demo_lines):
        rows = table_rows(demo_lines)  # from the dearest miss to the cheapest
        missed, alarms = rows[:, 5], rows[:, 8]
        assert (np.diff(missed) >= 0).all() and (np.diff(alarms) <= 0).all()
        assert missed[0] < missed[-1] and alarms[0] > alarms[-1]

    def test_the_table_is_for_people(self, demo_lines):
        (heading,) = (line for line in demo_lines if "miss : alarm " in line and "saved" in line)
        for words in ("cancers found", "missed", "healthy cleared", "false alarms"):
            assert words in heading
        assert not any("TPR" in line or "TNR" in line for line in demo_lines)

    def test_certificate_is_that_of_the_path(self, demo_lines):
        X_train, _, y_train, _ = breast_cancer.standardized_halves()
        certificate = taupath.quantile_path(X_train, y_train, C=breast_cancer.C).certify()
        text = " ".join(demo_lines)
        assert f"gap is at most {certificate.worst_gap:.1e}" in text
        assert f"more than {certificate.worst_kkt:.1e} of a margin" in text
        assert certificate.worst_gap < 1e-9 and certificate.worst_kkt < 1e-7

    def test_kinks_are_those_of_the_path(self, demo_lines):
        X_train, _, y_train, _ = breast_cancer.standardized_halves()
        path = taupath.quantile_path(X_train, y_train, C=breast_cancer.C)
        assert f" {path.n_kinks} kinks " in " ".join(demo_lines)

    def test_an_incomplete_certificate_says_so(self):
        certificate = SimpleNamespace(
            worst_gap=1e-12, tau_gap=0.25, worst_kkt=1e-10, tau_kkt=0.5, n_checked=7, complete=False
        )
        assert "7 values of τ (a sample of the path)" in " ".join(demo.sentences_about(certificate))


class TestUsage:
    def test_version(self, capsys):
        with pytest.raises(SystemExit) as caught:
            cli.main(["--version"])
        assert caught.value.code == 0
        assert capsys.readouterr().out == f"taupath {taupath.__version__}\n"

    @pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
    def test_help(self, capsys, arguments):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert caught.value.code == 0
        assert "demo" in capsys.readouterr().out

    @pytest.mark.parametrize("arguments", [[], ["dance"], ["demo", "--loud"]])
    def test_wrong_usage_leaves_with_2(self, capsys, arguments):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert caught.value.code == 2
        assert "usage: taupath" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("error", "status", "message"),
        [
            (ValueError("C must be positive"), 1, "taupath: C must be positive\n"),
            (OSError("disk full"), 1, "taupath: disk full\n"),
            (KeyboardInterrupt(), 130, "taupath: interrupted\n"),
        ],
    )
    def test_failure_is_one_line_and_a_status(self, monkeypatch, capsys, error, status, message):
        def fail(demo, output):
            raise error

        monkeypatch.setattr(demo, "lines", fail)
        assert cli.main(["demo"]) == status
        assert capsys.readouterr().err == message
