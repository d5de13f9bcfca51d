"""Commands on hostile data, names and streams: nothing lost, forged or left behind."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import taupath as tp
from command_files import COMMAND, refusal, run
from report_pages import payload_of
from taupath.models.model import Model
from taupath.paths.certificate import Certificate
from taupath.tables.messages import LONGEST_QUOTE, printable, shown, to_json

# Escapes of a terminal (also in one character), a return, marks that turn the writing, a zero.
CONTROL = "\x1b[31m\x9b2J\r\u202e\u2066\x07\x7f\u200b"
FORGED = "yes" + " " * 70 + "certificate holds: at 100 values (every kink and every midpoint),"


# Output that waits in a buffer is written when nobody looks any more.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def slow(value):
    """Return a parameter of a slow test."""
    return pytest.param(value, marks=pytest.mark.slow)


posix = pytest.mark.skipif(os.name != "posix", reason="signals and closed streams of POSIX")


@pytest.fixture(scope="module")
def folder(command_files):
    return command_files


def write(file, rows, positive="yes", column="a", other="keep"):
    """Write a table of two classes that can be told apart, more or less."""
    rng = np.random.default_rng(0)
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow([column, "b", other, "target"])
        for k in range(rows):
            x = rng.normal(size=2)
            label = positive if x[0] + 0.5 * rng.normal() > 0 else "no"
            writer.writerow([x[0], x[1], f"text {k % 7}", label])
    return file


def test_a_small_function_is_safe():
    for text in (CONTROL, "a\nb", "\x00", "\u2028", "\ud800", "\ue000"):
        assert printable(text).isprintable() and printable(text) != text
    assert printable("τ ≤ ½, Größe") == "τ ≤ ½, Größe"
    assert shown("yes") == "yes" and shown(1.5) == "1.5" and shown("two words") == "two words"
    for text in (FORGED, CONTROL, " a", "a  b", "", "x" * 100):
        assert shown(text)[0] in "'\"" and shown(text).isprintable()
        assert len(shown(text)) <= 12 * LONGEST_QUOTE
    content = {"a": CONTROL + "é\U000e0001", "b": ["\x85", 1.5]}
    assert json.loads(to_json(content)) == content
    assert to_json(content).isprintable() and "é" in to_json(content)


@pytest.mark.parametrize("text", [CONTROL + "yes", FORGED])
def test_text_from_data_never_reaches_a_terminal_raw(tmp_path, capfd, text):
    data = write(tmp_path / "t.csv", 60, positive=text, column=text + "name")
    model, other = tmp_path / "m.tau", tmp_path / "other.csv"
    other.write_text("b\n1\n")
    commands = [
        ("fit", data, "-o", model, "--positive", text.replace("\r", "\r").strip()),
        ("fit", data, "-o", model),
        ("fit", data, "-o", model, "--json"),
        ("fit", data, "-o", model, "--positive", CONTROL),
        ("fit", data, "-o", model, "--target", CONTROL),
        ("fit", data, "-o", model, "--drop", CONTROL, "--debug"),
        ("fit", tmp_path / CONTROL, "-o", model),
        ("fit", data, "-o", tmp_path / CONTROL / "m.tau"),
        ("predict", model, data, "-o", tmp_path / "p.csv"),
        ("predict", model, other),
        ("predict", model, data, "--tau", CONTROL),
        ("predict", model, data, "--json"),
        ("explain", model, data, "--row", "1"),
        ("explain", model, data, "--json"),
        ("evaluate", model, data),
        ("evaluate", model, data, "--json"),
        ("report", model, data, "-o", tmp_path / "r.html"),
        ("certify", model, data),
        ("simplify", model, "-o", tmp_path / "s.tau"),
    ]
    capfd.readouterr()
    for arguments in commands:
        run(*arguments)
        for said in capfd.readouterr():
            hidden = [line for line in said.splitlines() if not line.isprintable()]
            assert not hidden, arguments
            if "--json" not in arguments:  # a label that looks like a line of its own
                assert " " * 9 + "certificate holds" not in said
    with pytest.raises(SystemExit):
        run("fit", data, "-o", model, CONTROL)
    assert "\x1b" not in capfd.readouterr().err


@posix
def test_a_terminal_gets_escapes_and_a_pipe_gets_the_text(tmp_path):
    import pty

    data, model = write(tmp_path / "t.csv", 60, positive="y\x1b[31m"), tmp_path / "m.tau"
    assert run("fit", data, "-o", model) == 0
    command = [COMMAND, "predict", str(model), str(data)]
    piped = subprocess.run(command, capture_output=True, check=True).stdout
    assert b"y\x1b[31m" in piped
    leader, follower = pty.openpty()
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.DEVNULL) as process:
        os.close(follower)
        told = b""
        try:
            while some := os.read(leader, 65536):
                told += some
        except OSError:  # Linux says so at the end
            pass
        os.close(leader)
        assert process.wait(timeout=60) == 0
    assert b"\x1b" not in told and b"y\\x1b[31m" in told


def test_formulas_do_not_reach_csv(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    cells = ["=cmd|x", "+1+1", "-x", "@SUM(1)", "＝1", "+", "-", "-1.5", "1", "x=1"]
    columns = {
        "=name": [cells[k % len(cells)] for k in range(40)],
        "number": np.arange(40.0) - 20.0,
        "x": x,
        "target": np.where(x + 0.3 * rng.normal(size=40) > 0, "=yes()", "-no"),
    }
    data, model, out = tmp_path / "t.csv", tmp_path / "m.tau", tmp_path / "out.csv"
    with open(data, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    assert run("fit", data, "-o", model, "--keep-id", "=name", "--keep-id", "number") == 0
    assert run("predict", model, data, "-o", out, "--proba") == 0
    with open(out, newline="", encoding="utf-8") as stream:
        head, *rows = csv.reader(stream)
    assert head == ["'=name", "number", "prediction", "p(-no)", "p(=yes())"]
    safe = ["'=cmd|x", "'+1+1", "'-x", "'@SUM(1)", "'＝1", "+", "-", "-1.5", "1", "x=1"]
    assert [row[0] for row in rows[:10]] == safe
    assert {row[2] for row in rows} == {"'=yes()", "'-no"}
    assert rows[0][1] == "-20.0"
    assert run("predict", model, data, "-o", tmp_path / "out.json") == 0
    assert json.loads((tmp_path / "out.json").read_text("utf-8"))[0]["=name"] == "=cmd|x"


@pytest.mark.parametrize("link", ["same", "symbolic", "hard", "relative"])
def test_an_output_is_never_an_input(folder, tmp_path, capsys, monkeypatch, link):
    monkeypatch.chdir(tmp_path)
    files = {}
    for name in ("cancer.svm", "cancer.tau", "iris.csv", "iris.tau"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
        files[name] = tmp_path / name
        if link == "symbolic":
            files[name] = tmp_path / f"link-{name}"
            files[name].symlink_to(tmp_path / name)
        elif link == "hard":
            files[name] = tmp_path / f"link-{name}"
            os.link(tmp_path / name, files[name])
        elif link == "relative":
            (tmp_path / "sub").mkdir(exist_ok=True)
            files[name] = f"sub/../{name}"
    costs = tmp_path / "costs.csv"
    costs.write_text("0,1,1\n1,0,1\n1,1,0\n")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    data, model, iris = tmp_path / "cancer.svm", tmp_path / "cancer.tau", tmp_path / "iris.csv"
    for arguments in (
        ("fit", data, "-o", files["cancer.svm"]),
        ("predict", model, data, "-o", files["cancer.svm"]),
        ("predict", model, data, "-o", files["cancer.tau"]),
        ("predict", tmp_path / "iris.tau", iris, "--cost-matrix", costs, "-o", costs),
        ("evaluate", model, data, "-o", files["cancer.svm"]),
        ("evaluate", model, data, "--picture", files["cancer.tau"]),
        ("evaluate", tmp_path / "iris.tau", iris, "--cost-matrix", costs, "--picture", costs),
        ("report", model, data, "-o", files["cancer.svm"]),
        ("report", model, data, "-o", files["cancer.tau"]),
        ("simplify", model, "-o", files["cancer.tau"]),
    ):
        assert "is the same file as" in refusal(capsys, *arguments)
    both = ("-o", tmp_path / "steps.csv", "--picture", tmp_path / "steps.csv")
    assert "is the same file as" in refusal(capsys, "evaluate", model, data, *both)
    after = {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    assert after == before


@posix
def test_standard_streams_may_be_the_files_themselves(folder, tmp_path):
    data, model = tmp_path / "iris.csv", folder / "iris.tau"
    data.write_bytes((folder / "iris.csv").read_bytes())
    with open(data, "a") as out:
        said = subprocess.run(
            [COMMAND, "predict", model, data], stdout=out, stderr=subprocess.PIPE, check=False
        )
    assert said.returncode == 1 and b"standard output is the same file as" in said.stderr
    with open(data) as stream:
        said = subprocess.run(
            [COMMAND, "fit", "-", "-o", data], stdin=stream, capture_output=True, check=False
        )
    assert said.returncode == 1 and b"is the same file as -" in said.stderr
    assert data.read_bytes() == (folder / "iris.csv").read_bytes()


@pytest.mark.parametrize("kind", ["text", "infinite", "long", "huge", "numbers"])
def test_columns_that_fit_left_out_are_not_in_the_report(tmp_path, kind):
    secret = {"text": "SECRET", "infinite": "inf", "long": "S" * 9000, "huge": "1e308"}
    cells = [secret.get(kind, str(k)) if k % 3 else "-1e308" for k in range(60)]
    data, model, page = tmp_path / "t.csv", tmp_path / "m.tau", tmp_path / "r.html"
    lines = write(data, 60, column="pre__left").read_text("utf-8").splitlines()
    lines = [f"{lines[0]},left"] + [
        f"{row},{cell}" for row, cell in zip(lines[1:], cells, strict=True)
    ]
    data.write_text("\n".join(lines))
    options = ("--target", "target", "--ignore", "left", "--keep-id", "keep")
    assert run("fit", data, "-o", model, *options) == 0
    assert run("report", model, data, "-o", page) == 0
    assert "SECRET" not in page.read_text("utf-8")
    names = [column["name"] for column in payload_of(page)["cases"]["columns"]]
    assert sorted(names) == ["b", "keep", "pre__left"]
    assert run("report", model, data, "-o", page, "--no-cases") == 0
    assert "left" not in payload_of(page)["holds"]


def forged(model, **entries):
    """Return a model whose record says other things about it."""
    trained = {**model.trained, **entries.pop("trained", {})}
    stored = Certificate(1e-16, 0.5, 1e-16, 0.5, 10**6, True, **entries)
    trained["certificate"] = {**vars(stored), "holds": True}
    return Model(model.estimator, model.preparation, trained, model.held_out)


def test_the_report_computes_the_certificate_again_where_it_can(folder, tmp_path, capsys):
    page, file = tmp_path / "r.html", tmp_path / "m.tau"
    model = tp.load(folder / "cancer.tau")
    forged(model, trained={"C": 77.0, "kinks": 1, "features": 3}).save(file)
    assert run("report", file, folder / "cancer.svm", "-o", page) == 0
    payload = payload_of(page)
    certificate = payload["certificate"]
    assert not certificate["stored"] and certificate["checked"] == 100 and certificate["holds"]
    assert certificate["gap"] == model.path_.certify(100).worst_gap > 1e-16
    known = dict(map(tuple, payload["provenance"]))
    assert known["C"] == "0.1" and known["features"] == "4"
    assert known["kinks"] == str(model.path_.n_kinks)


def test_a_certificate_that_was_only_read_is_called_stored(folder, tmp_path, capsys):
    page, file, small = tmp_path / "r.html", tmp_path / "m.tau", tmp_path / "s.tau"
    assert run("simplify", folder / "cancer.tau", "-o", small) == 0
    forged(tp.load(small), continuum=True, tol=1e-6).save(file)
    assert run("report", file, folder / "cancer.svm", "-o", page) == 0
    certificate = payload_of(page)["certificate"]
    assert certificate["stored"] and certificate["checked"] == 10**6
    assert "Stored certificate, not checked" in page.read_text("utf-8")


@pytest.mark.slow
def test_two_classes_are_fitted_with_several_processes(folder, tmp_path, capsys):
    lines = (folder / "iris.csv").read_text().splitlines()
    two = tmp_path / "two.csv"
    two.write_text("\n".join(line for line in lines if "setosa" not in line))
    for data, options in (
        (two, ()),
        (two, ("--cv", "2")),
        (two, ("--folds", "2")),
        (folder / "iris.csv", ("--cv", "2", "--folds", "2")),
    ):
        found = []
        for n_jobs in ("1", "2"):
            model = tmp_path / f"m{n_jobs}.tau"
            assert run("fit", data, "-o", model, "--n-jobs", n_jobs, *options) == 0
            found.append(tp.load(model).predict_proba(str(data)))
        np.testing.assert_allclose(*found, atol=1e-9)


def test_two_classes_and_numbers_are_fitted_in_two_threads(folder, tmp_path, capsys):
    lines = (folder / "iris.csv").read_text().splitlines()
    two = tmp_path / "two.csv"
    two.write_text("\n".join(line for line in lines if "setosa" not in line))
    numbers = ("--task", "regress", "--target", lines[0].split(",")[0])
    for options, predict in (((), tp.Model.predict_proba), (numbers, tp.Model.predict)):
        found = []
        for n_jobs in ("1", "2"):
            model = tmp_path / f"m{n_jobs}.tau"
            assert run("fit", two, "-o", model, "--n-jobs", n_jobs, *options) == 0
            found.append(predict(tp.load(model), str(two)))
        np.testing.assert_allclose(*found, atol=1e-9)


# -- streams and signals ---------------------------------------------------------------------------


@posix
@pytest.mark.parametrize(
    "closed",
    [
        slow("<&-"),
        slow(">&-"),
        slow("2>&-"),
        "<&- >&- 2>&-",
    ],
)
def test_closed_standard_streams(folder, tmp_path, closed):
    def shell(line):
        line = f"exec '{COMMAND}' {line} {closed}"
        return subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=300)

    model = tmp_path / "m.tau"
    done = shell(f"fit '{folder}/iris.csv' -o '{model}'")
    assert done.returncode == 0 and b"Traceback" not in done.stderr
    assert tp.load(model).labels == ["setosa", "versicolor", "virginica"]
    done = shell(f"predict '{model}' '{folder}/iris.csv'")
    assert b"Traceback" not in done.stderr
    assert done.returncode == (1 if ">&- " in f" {closed} ".replace("2>&-", "") else 0)
    if closed == ">&-":
        assert b"standard output is closed" in done.stderr
        assert b"--json" in shell(f"evaluate '{model}' '{folder}/iris.csv' --json").stderr
    if closed == "<&-":
        done = shell(f"predict '{model}' -")
        assert done.returncode == 1 and done.stderr.count(b"\n") == 1
        assert b"<standard input>: it is closed" in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["m.tau"]


@posix
@pytest.mark.parametrize(
    "line",
    [
        "--help",
        slow("fit --help"),
        "predict '{0}/iris.tau' '{0}/iris.csv' --proba",
        slow("evaluate '{0}/iris.tau' '{0}/iris.csv'"),
    ],
)
def test_a_reader_that_leaves_hears_nothing_more(folder, line):
    line = f"'{COMMAND}' {line.format(folder)}"
    thrice = f"{line} | true; {line} 2>&1 | true; {line} | head -1"
    done = subprocess.run(
        ["sh", "-c", thrice], capture_output=True, check=True, timeout=300, env=BUFFERED
    )
    assert b"Traceback" not in done.stderr and b"Exception" not in done.stderr
    assert done.stdout.count(b"\n") == 1


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
def test_a_full_device_is_an_error_of_one_line(folder):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [COMMAND, "predict", folder / "iris.tau", folder / "iris.csv"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env=BUFFERED,
        )
    assert done.returncode == 1
    assert done.stderr.endswith(b"No space left on device\n") and b"Exception" not in done.stderr


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_version_that_cannot_be_written_is_an_error_of_one_line(unbuffered):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [COMMAND, "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env={**BUFFERED, "PYTHONUNBUFFERED": unbuffered},
        )
    assert done.returncode == 1
    assert done.stderr == b"taupath: standard output: No space left on device\n"


SLOW_SAVE = """
import sys, time
from taupath import atomic_files, cli

def slow(*_):
    print("saving", file=sys.stderr, flush=True)
    time.sleep(60)

atomic_files.os.fsync = slow
sys.exit(cli.main(sys.argv[1:]))
"""


@posix
@pytest.mark.parametrize("number", [signal.SIGTERM, slow(signal.SIGHUP)])
def test_a_signal_leaves_no_temporary_file(folder, tmp_path, number):
    command = ["fit", folder / "iris.csv", "-o", tmp_path / "m.tau"]
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_SAVE, *map(str, command)],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # the tests may be under nohup
    )
    with process:
        assert process.stderr.readline() == "saving\n"
        assert len(os.listdir(tmp_path)) == 1  # the temporary file
        process.send_signal(number)
        said = process.stderr.read()
        assert process.wait(timeout=30) == 128 + number
    assert said == f"taupath: ended by {number.name}\n"
    assert os.listdir(tmp_path) == []


@posix
@pytest.mark.slow
def test_an_ignored_signal_stays_ignored(folder, tmp_path):
    script = f"trap '' HUP; exec '{sys.executable}' -c '{SLOW_SAVE.replace('60', '2')}' \"$@\""
    command = ["fit", str(folder / "iris.csv"), "-o", str(tmp_path / "m.tau")]
    process = subprocess.Popen(
        ["sh", "-c", script, "sh", *command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    with process:
        assert process.stderr.readline() == b"saving\n"
        process.send_signal(signal.SIGHUP)  # as under nohup
        time.sleep(0.1)
        process.stderr.close()
        assert process.wait(timeout=60) == 0
    assert os.listdir(tmp_path) == ["m.tau"]


def test_an_error_is_never_long(tmp_path, capsys):
    data = tmp_path / "t.csv"
    names = [f"c{k}" * 2000 for k in range(30)]
    data.write_text(",".join(names) + "\n" + ",".join("x" for _ in names) + "\n")
    for arguments in (
        ("fit", data, "-o", tmp_path / "m.tau"),
        ("fit", data, "-o", tmp_path / "m.tau", "--target", "nowhere" * 1000),
        ("fit", data, "-o", tmp_path / "m.tau", "--drop", "nowhere" * 1000),
        ("fit", "n" * 5000, "-o", tmp_path / "m.tau"),
    ):
        assert len(refusal(capsys, *arguments)) < 1000
