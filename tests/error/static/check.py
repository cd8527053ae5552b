#!/usr/bin/env python3
"""Programs that the compiler must refuse, with the text that their first line names in the first error: check.py COMPILER... (the command,
without the file)"""
import pathlib, re, subprocess, sys, tempfile
passed, failed = 0, 0
folder = tempfile.TemporaryDirectory()
# What most of the programs include is compiled once.
common = pathlib.Path(folder.name) / "common.h"
common.write_text("#include <weft/weft.h>\n")
compiler = sys.argv[1:] + ["-std=c++20"]
subprocess.run([*compiler, "-x", "c++-header", str(common), "-o", f"{common}.gch"], check=True)
for path in sorted(pathlib.Path(__file__).parent.glob("*.cc")):
    text = re.match(r"// refused: (.*)", path.read_text())[1]
    p = subprocess.run([*compiler, "-include", str(common), "-fsyntax-only", str(path)], capture_output=True, text=True, errors="replace")
    # The program itself is repeated in the compiler's output: only what is said counts.
    errors = [line for line in p.stderr.splitlines() if "error:" in line]
    good = p.returncode != 0 and bool(errors) and text in errors[0]
    passed, failed = passed + good, failed + (not good)
    if not good:
        print(f"{path.name}: " + ("was not refused" if p.returncode == 0 else f"the first error doesn't say `{text}`:\n" + "\n".join(errors)))
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
