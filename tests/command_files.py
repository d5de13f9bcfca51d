"""Small files, models of them, and ways to run the command on them."""

import csv
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from taupath import cli

COMMAND = Path(sys.executable).with_name("taupath")
IRIS = ("setosa", "versicolor", "virginica")


def taupath(*arguments, stdin=None, status=0):
    """Run the installed command and return what it printed."""
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], input=stdin, capture_output=True, check=False, timeout=900
    )
    assert done.returncode == status, done.stderr.decode()
    if status == 0:
        assert not [line for line in done.stderr.splitlines() if b"positive class: " not in line]
    return done.stdout.decode()


def in_process(capsys):
    """Return a function like `taupath` that runs the command in this process, which is quicker."""

    def command(*arguments):
        assert run(*arguments) == 0
        out, err = capsys.readouterr()
        assert not [line for line in err.splitlines() if "positive class: " not in line]
        return out

    return command


def run(*arguments):
    """Run a command in this process."""
    return cli.main([str(argument) for argument in arguments])


def columns_of(text):
    header, *rows = csv.reader(io.StringIO(text))
    return dict(zip(header, zip(*rows, strict=True), strict=True))


def write_halves(folder):
    """Return the folder, with two halves of the breast cancer data."""
    data = load_breast_cancer()
    labels = data.target_names[data.target]
    for name, rows in (("train.csv", slice(0, None, 2)), ("test.csv", slice(1, None, 2))):
        with open(folder / name, "w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["a", "b", "c", "d", "tumour"])
            for row, label in zip(data.data[rows, :4].tolist(), labels[rows], strict=True):
                writer.writerow([*row, label])
    return folder


def write_files(folder):
    """Return the folder, with small files and models of them."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:150, :4]
    y = y[:150]
    dump_svmlight_file(X, y, str(folder / "cancer.svm"), zero_based=False)
    with open(folder / "iris.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["length", "width", "petal", "size", "species"])
        data = load_iris()
        for row, label in zip(data.data, data.target, strict=True):
            writer.writerow([*row, IRIS[label]])
    with open(folder / "wages.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["age", "job", "price", "wage"])
        rng = np.random.default_rng(0)
        for k in range(120):
            job = ("clerk", "smith", "nurse")[k % 3]
            wage = 20 + 2 * (k % 3) + 0.1 * k + rng.normal() * (1 + k / 60)
            writer.writerow([20 + k / 3, job, 1 + k % 7, round(float(wage), 3)])
    assert run("fit", folder / "cancer.svm", "-o", folder / "cancer.tau", "--C", "0.1") == 0
    assert run("fit", folder / "iris.csv", "-o", folder / "iris.tau", "--standardize") == 0
    options = ("--task", "regress", "--standardize", "--conformal", "4")
    assert run("fit", folder / "wages.csv", "-o", folder / "wages.tau", *options) == 0
    return folder


def refusal(capsys, *arguments, status=1):
    """Run a command that fails, and return the one line that it says."""
    assert run(*arguments) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("taupath: ")
    assert err.count("\n") == 1
    return err
