"""``taupath certify``: check a model against the file that it was trained on."""

import argparse
from dataclasses import asdict

from taupath.commands import Failed
from taupath.commands.files import load_model, read_rows
from taupath.commands.options import NewCommand, add_data_options, add_model, add_target_option
from taupath.commands.printing import bar, certificate_lines, print_json, print_lines


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="certify",
        help="check a model against its training file",
        description=(
            "Check that a model was trained on this file and that it is optimal along the whole "
            "path. The duality gap and the optimality conditions are computed from the data. An "
            "approximate or simplified model may hold no data; it is then checked against this "
            "file alone, for every τ at once. The exit status is 1 if a check fails."
        ),
        epilog="example:\n  taupath certify model.tau train.csv --points 1000",
    )
    add_model(parser)
    parser.add_argument("train", metavar="TRAIN", help="the file that it was trained on, or -")
    add_data_options(parser)
    add_target_option(parser)
    how_many = parser.add_mutually_exclusive_group()
    how_many.add_argument(
        "--points",
        type=int,
        default=1000,
        metavar="N",
        help="check at this many values of τ (default 1000)",
    )
    how_many.add_argument(
        "--all", action="store_true", help="check at every kink and every midpoint"
    )


def run(arguments: argparse.Namespace) -> None:
    """Compare the data with those of training, then check the path."""
    if arguments.points < 2:
        raise Failed("--points must be at least 2")
    from taupath.models.certifying import certificate_of, differences, has_data
    from taupath.models.evaluation import truth_of
    from taupath.models.model import with_columns

    model = load_model(arguments)
    table = read_rows(arguments, model, arguments.train)
    with bar("checking", arguments):
        found = differences(model, table)
        if found is not None:
            raise Failed(f"{arguments.model} was not trained on {table.source}: {found}")
        points = None if arguments.all else arguments.points
        X, y = truth_of(model, table)
        costs = with_columns(model.trained.get("costs", {}), table)
        certificate = certificate_of(model.estimator, points, X, y, costs)
    if arguments.json:
        print_json({"holds": certificate.holds(), **asdict(certificate)})
    else:
        print_lines(
            f"{arguments.model} was trained on these {table.n_rows} rows"
            if has_data(model)
            else f"{arguments.model} does not hold its training data; it is checked against these "
            f"{table.n_rows} rows",
            *certificate_lines(certificate),
        )
    if not certificate.holds():
        raise Failed("the certificate does not hold")
