"""What the scripts of this folder share: the table of expressions and the arrays that they are applied to."""
import pathlib

folder = pathlib.Path(__file__).parent
# Sets of three arrays x, y, z: a dtype and a letter. v: vectors; e: their edge values; m: matrices, of which z fits x @ z; s: square ones,
# a right-hand side y and a positive definite z; t: three dimensions; n: no elements; d: scalars.
groups = {
    "V": "bf16v f32v f64v",
    "E": "f16e f32e f64e",
    "I": "i8v u8v i32v",
    "B": "bv",
    "C": "c64v",
    "K": "c64e",
    "M": "f32m f64m",
    "L": "i32m bm",
    "X": "c64m",
    "S": "f32s f64s",
    "H": "c64s",
    "T": "f32t",
    "N": "f32n",
    "D": "f32d",
    "F": "f32v",
}


def table():
    """(number, C++, Python, sets, flags) of each line."""
    out = []
    for line in (folder / "expressions.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        cpp, python, names, *flags = line.split("\t")
        sets = " ".join(groups.get(n, n) for n in names.split()).split()
        out.append((len(out), cpp, python, sets, set(flags[0].split()) if flags else set()))
    return out
