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
html_static_path = ["static"]
html_show_sphinx = False
html_show_search_summary = False  # it fetches the pages that are found, which browsers refuse to pages from disk
html_css_files = ["site.css"]
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"


def outside_of_the_site(app, env, node, content):
    """A link to a file of the sources that is no page stays as its text."""
    target = node.get("reftarget", "")
    if (root / "docs" / pathlib.Path(node["refdoc"]).parent / target).resolve().exists():
        return content
    return None


def mend_theme(app, exception):
    """What Debian's package of the theme lacks.

    Its script imports another one and its style sheet is imported by an absolute path, neither of which a page from disk may do; and its style
    sheet has no rules for readers whose system prefers dark pages, which are those for readers who chose them.
    """
    if exception is not None:
        return
    static = pathlib.Path(app.outdir) / "_static"
    script, imported = static / "scripts/furo.js", static / "scripts/gumshoe-patched.js"
    line = 'import Gumshoe from "./gumshoe-patched.js";'
    if script.exists() and line in script.read_text():
        script.write_text(imported.read_text() + script.read_text().replace(line, ""))
    sheet = static / "styles/furo.css"
    if sheet.exists():
        text = re.sub(r"@import url\((/[^)]*)\);", lambda m: (pathlib.Path("/usr/share") / m[1][1:]).read_text(), sheet.read_text())
        dark = re.search(r'@media not print \{\n(  body\[data-theme="dark"\].*?)\n\nbody\[', text, re.S)
        if dark and "prefers-color-scheme" not in text:
            text += "\n@media screen and (prefers-color-scheme: dark) {\n" + dark[1].replace('[data-theme="dark"]', '[data-theme="auto"]') + "\n"
        sheet.write_text(text)


def setup(app):
    app.connect("missing-reference", outside_of_the_site)
    app.connect("build-finished", mend_theme)
