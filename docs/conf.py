"""The documentation: `make docs` builds it in build/docs."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.insert(1, str(Path(__file__).parents[1] / "benchmarks"))  # shows its own results

project = "taupath"
author = "the taupath developers"
project_copyright = author
release = version = version_of("taupath")

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "plain_docstrings",
    "bench",
]
exclude_patterns = ["_ext", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

# Every reference must have a target. Nothing is looked up in other projects' sites: a build needs
# no network.
nitpicky = True
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings name the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # each page of the reference lists its own
default_role = "literal"  # single backticks in docstrings

html_theme = "furo"
html_title = f"taupath {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,  # how long an example took on this machine is nobody's business
    "write_computation_times": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
}
