#!/usr/bin/env python3
"""Whether a user's program that includes weft's headers as its own compiles with all warnings on, as errors: check.py COMPILER... (the command
with the include folders, without the file). Also by clang++, where there is one."""
import pathlib, shutil, subprocess, sys
source = pathlib.Path(__file__).parent / "user_program.cc"
flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wsign-conversion", "-Wshadow", "-Werror"]
at = next(i for i, a in enumerate(sys.argv) if i > 0 and a.startswith("-"))
commands = {" ".join(sys.argv[1:at]): sys.argv[1:]}
other = shutil.which("clang++-19") or shutil.which("clang++")
if other:
    commands[other] = [other] + sys.argv[at:]
failed = 0
for name, command in commands.items():
    p = subprocess.run(command + flags + [str(source)], capture_output=True, text=True, errors="replace")
    failed += p.returncode != 0
    print(f"{name}: {'no warnings' if p.returncode == 0 else p.stderr}")
print(f"{len(commands) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
