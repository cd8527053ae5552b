# Sphinx's settings for the site that scripts/docs makes of these pages.
import pathlib
import re

root = pathlib.Path(__file__).resolve().parent.parent
project = "weft"
copyright = "the weft authors"
version = release = re.search(r"version: '([\d.]+)'", (root / "meson.build").read_text())[1]
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
exclude_patterns = ["weft.1"]
html_theme = "furo"
html_title = "weft"
html_static_path = []
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def outside_of_the_site(app, env, node, content):
    """A link to a file of the sources that is no page stays as its text."""
    target = node.get("reftarget", "")
    if (root / "docs" / pathlib.Path(node["refdoc"]).parent / target).resolve().exists():
        return content
    return None


def setup(app):
    app.connect("missing-reference", outside_of_the_site)
