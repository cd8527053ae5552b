#!/usr/bin/env python3
"""make_cases.py OUT...: the expressions as C++ functions, divided among these files."""
import pathlib
import sys

sys.dont_write_bytecode = True
import expressions

table, outs = expressions.table(), sys.argv[1:]
for k, out in enumerate(outs):
    part = table[k::len(outs)]
    text = ["// Written by make_cases.py.", '#include "tests/expressions/cases.h"', "#include <weft/jnp.h>", "#include <weft/scipy.h>", "#include <weft/stats.h>", "", "using namespace weft;", "", f"void add_cases_{k}(std::vector<Case>& cases);", "void add_all_cases(std::vector<Case>& cases);", f"void add_cases_{k}(std::vector<Case>& cases) {{"]
    for number, cpp, python, sets, flags in part:
        names = "".join(f"const Array& {v}, " for v in "xyz")[:-2]
        text.append(f'  cases.push_back({{{number}, R"c({cpp})c", {"false" if "nojit" in flags else "true"}, {"false" if flags & {"novmap", "nojit"} else "true"}, []({names}) {{ static_cast<void>(x), static_cast<void>(y), static_cast<void>(z); return Array({cpp}); }}}});')
    text.append("}")
    if k == 0:
        text += [f"void add_cases_{i}(std::vector<Case>& cases);" for i in range(1, len(outs))]
        text += ["void add_all_cases(std::vector<Case>& cases) {"] + [f"  add_cases_{i}(cases);" for i in range(len(outs))] + ["}"]
    pathlib.Path(out).write_text("\n".join(text) + "\n")
