"""``taupath simplify``: the same model within a tolerance, in a smaller file."""

import argparse
import os

from taupath.commands import Failed
from taupath.commands.files import check_certificate, check_output, load_model
from taupath.commands.options import NewCommand, add_limit, add_model
from taupath.commands.printing import bar, certificate_lines, print_json, print_lines

OPERATE_AGAIN = (
    "the operating point is left out: the smaller model decides differently, so run taupath "
    "operate on it"
)


def add(new_command: NewCommand) -> None:
    """Add the command to a parser."""
    parser = new_command(
        name="simplify",
        help="make a model smaller, within a certified tolerance",
        description=(
            "Write a smaller model: it keeps as few kinks as a tolerance for the duality gap "
            "allows, at every τ. With the linear kernel, the new file holds no training data."
        ),
        epilog="example:\n  taupath simplify model.tau -o small.tau --tol 1e-6",
    )
    add_model(parser)
    parser.add_argument(
        "-o", "--output", metavar="SMALL", required=True, help="model file to write"
    )
    parser.add_argument(
        "--tol",
        type=float,
        default=1e-6,
        metavar="T",
        help="largest duality gap allowed, as a fraction of the objective at w = 0 and τ = ½ "
        "(default 1e-6)",
    )
    parser.add_argument(
        "--allow-inexact",
        action="store_true",
        help="write the model even if its certificate does not hold",
    )
    add_limit(parser)


def run(arguments: argparse.Namespace) -> None:
    """Simplify, write the model, print what came out."""
    check_output(arguments.output, inputs=(arguments.model,))
    from taupath.models.certifying import has_data, simplified
    from taupath.tables.messages import readable_size

    model = load_model(arguments)
    if not has_data(model):
        raise Failed(
            f"{arguments.model} does not hold its training data: simplify a model that does"
        )
    with bar("simplifying", arguments):
        small, certificate = simplified(model, arguments.tol)
    check_certificate(certificate, arguments.output, arguments)
    small.save(arguments.output)
    before, after = (os.path.getsize(file) for file in (arguments.model, arguments.output))
    kinks, nodes = model.trained.get("kinks"), small.trained["kinks"]
    if arguments.json:
        print_json({"model": arguments.output, "bytes": after, **small.trained})
        return
    noun = "" if model.trained.get("method") == "approximate" else " kinks"
    print_lines(
        f"{nodes} nodes instead of {kinks}{noun}",
        *certificate_lines(certificate),
        *([OPERATE_AGAIN] if model.operating_point else []),
        f"written to {arguments.output} ({readable_size(after)}; "
        f"{arguments.model} has {readable_size(before)})",
    )
