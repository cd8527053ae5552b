// Samples of linear algebra. Matrices are prepared so that they are what the factorisation takes, and far from what it does not.
#include "samples.h"

namespace weft::test {

using namespace detail;

namespace {

/// `e`: the identity; `w`: the diagonal matrix of 0, 3, 6.
const std::string kDiagonals =
    "i:i32[3,3] = iota[dimension=0 dtype=int32 shape=(3, 3)]; j:i32[3,3] = iota[dimension=1 dtype=int32 shape=(3, 3)]; "
    "q:bool[3,3] = eq i j; e:$d[3,3] = convert_element_type[new_dtype=$n weak_type=False] q; "
    "n:i32[3,3] = mul i 3:i32[]; o:$d[3,3] = convert_element_type[new_dtype=$n weak_type=False] n; w:$d[3,3] = mul o e; ";
/// `h`: Hermitian, its eigenvalues far apart; of real numbers, and of complex ones.
const std::string kSymmetric = kDiagonals + "b:$d[3,3] = transpose[permutation=(1, 0)] a; c:$d[3,3] = add a b; h:$d[3,3] = add c w; ";
const std::string kHermitian = kDiagonals +
                               "b:$d[3,3] = transpose[permutation=(1, 0)] a; g:$d[3,3] = conj[input_dtype=$n] b; "
                               "c:$d[3,3] = add a g; h:$d[3,3] = add c w; ";
/// `h`: two positive definite matrices.
const std::string kPositive = kDiagonals +
                              "b:$d[2,3,3] = transpose[permutation=(0, 2, 1)] a; "
                              "c:$d[2,3,3] = dot_general[dimension_numbers=(([2], [1]), ([0], [0])) preferred_element_type=$n] a b; "
                              "f:$d[1,3,3] = reshape[new_sizes=(1, 3, 3)] e; h:$d[2,3,3] = add c f; ";
const std::string kPositiveComplex = kDiagonals +
                                     "b:$d[2,3,3] = transpose[permutation=(0, 2, 1)] a; g:$d[2,3,3] = conj[input_dtype=$n] b; "
                                     "c:$d[2,3,3] = dot_general[dimension_numbers=(([2], [1]), ([0], [0])) preferred_element_type=$n] a g; "
                                     "f:$d[1,3,3] = reshape[new_sizes=(1, 3, 3)] e; h:$d[2,3,3] = add c f; ";
/// `t`: a matrix whose triangles can be solved with.
const std::string kDominant = kDiagonals + "s:$d[3,3] = add e e; t:$d[3,3] = add a s; ";

SampleText triangular(const std::string& flags, bool left) {
  const std::string b = left ? "b:$d[3,2]" : "b:$d[2,3]", x = left ? "$d[3,2]" : "$d[2,3]";
  return {"triangular_solve",
          kWideInexact,
          "a:$d[3,3] " + b + ". let " + kDominant + "x:" + x + " = triangular_solve[" + flags + "] t b in (x,)",
          0,
          2,
          true,
          8};
}

const std::string kSvd = "svd[algorithm=None subset_by_index=None ";

}  // namespace

std::vector<SampleText> linalg_samples() {
  return {
      {"cholesky", kWideFloat, "a:$d[2,3,3]. let " + kPositive + "l:$d[2,3,3] = cholesky h in (l,)", 0, 2, true, 8},
      {"cholesky", kComplex, "a:$d[2,3,3]. let " + kPositiveComplex + "l:$d[2,3,3] = cholesky h in (l,)", 0, 2, true, 8},
      {"eigh", kWideFloat, "a:$d[3,3]. let " + kSymmetric + "v:$d[3,3] l:$d[3] = eigh[lower=True] h in (v, l)", 0, 2, true, 32},
      {"eigh", kWideFloat, "a:$d[3,3]. let " + kSymmetric + "v:$d[3,3] l:$d[3] = eigh[lower=False] h in (v, l)", 0, 2, true, 32},
      // Complex vectors have any phase: their moduli have not.
      {"eigh", kComplex, "a:$d[3,3]. let " + kHermitian + "v:$d[3,3] l:$r[3] = eigh[lower=True] h; m:$r[3,3] = abs v in (m, l)", 0, 2, true,
       32},
      {"lu", kWideInexact, "a:$d[3,3]. let " + kDominant + "l:$d[3,3] p:i32[3] r:i32[3] = lu t in (l, p, r)", 0, 2, true, 32},
      {"lu", kWideInexact, "a:$d[2,4,3]. let l:$d[2,4,3] p:i32[2,3] r:i32[2,4] = lu a in (l, p, r)", 0, 2, true, 256},
      {"lu", kWideInexact, "a:$d[3,4]. let l:$d[3,4] p:i32[3] r:i32[3] = lu a in (l, p, r)", 0, 2, true, 256},
      {"qr", kWideInexact, "a:$d[3,3]. let " + kDominant + "o2:$d[3,3] r:$d[3,3] = qr[full_matrices=True] t in (o2, r)", 0, 2, true, 32},
      {"qr", kWideInexact, "a:$d[2,4,3]. let q:$d[2,4,3] r:$d[2,3,3] = qr[full_matrices=False] a in (q, r)", 0, 2, true, 256},
      {"qr", kWideInexact, "a:$d[3,4]. let q:$d[3,3] r:$d[3,4] = qr[full_matrices=False] a in (q, r)", 0, 2, true, 256},
      {"qr", kWideInexact, "a:$d[4,3]. let q:$d[4,4] r:$d[4,3] = qr[full_matrices=True] a in (q, r)", 0, 2, false, 256},
      {"svd", kWideInexact, "a:$d[2,4,3]. let s:$r[2,3] = " + kSvd + "compute_uv=False full_matrices=True] a in (s,)", 0, 2, true, 32},
      {"svd", kWideFloat,
       "a:$d[3,3]. let " + kDiagonals + "t:$d[3,3] = add a w; s:$d[3] u:$d[3,3] v:$d[3,3] = " + kSvd +
           "compute_uv=True full_matrices=False] t in (s, u, v)",
       0, 2, true, 64},
      {"svd", kWideFloat, "a:$d[4,2]. let s:$d[2] u:$d[4,2] v:$d[2,2] = " + kSvd + "compute_uv=True full_matrices=False] a in (s, u, v)", 0,
       2, true, 256},
      {"svd", kComplex,
       "a:$d[2,4]. let s:$r[2] u:$d[2,2] v:$d[2,4] = " + kSvd +
           "compute_uv=True full_matrices=False] a; m:$r[2,2] = abs u; n:$r[2,4] = abs v in (s, m, n)",
       0, 2, true, 256},
      {"svd", kWideInexact, "a:$d[4,2]. let s:$r[2] u:$d[4,4] v:$d[2,2] = " + kSvd + "compute_uv=True full_matrices=True] a in (s,)", 0, 2,
       false, 32},
      triangular("conjugate_a=False left_side=True lower=True transpose_a=False unit_diagonal=False", true),
      triangular("conjugate_a=False left_side=True lower=False transpose_a=True unit_diagonal=False", true),
      triangular("conjugate_a=True left_side=False lower=True transpose_a=True unit_diagonal=False", false),
      triangular("conjugate_a=False left_side=False lower=False transpose_a=False unit_diagonal=True", false),
      {"custom_linear_solve", kWideInexact,
       "a:$d[3,3] b:$d[3]. let " + kDominant +
           "m:bool[3,3] = ge i j; u:$d[3,3] = convert_element_type[new_dtype=$n weak_type=False] m; l:$d[3,3] = mul t u; "
           "x:$d[3] = custom_linear_solve[const_lengths=_LinearSolveTuple(matvec=1, vecmat=1, solve=1, transpose_solve=1) "
           "jaxprs=_LinearSolveTuple("
           "matvec={ lambda ; a:$d[3,3] b:$d[3]. let c:$d[3] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b in (c,) }, "
           "vecmat={ lambda ; a:$d[3,3] b:$d[3]. let c:$d[3] = dot_general[dimension_numbers=(([0], [0]), ([], []))] a b in (c,) }, "
           "solve={ lambda ; a:$d[3,3] b:$d[3]. let c:$d[3,1] = reshape[new_sizes=(3, 1)] b; d:$d[3,1] = "
           "triangular_solve[conjugate_a=False "
           "left_side=True lower=True transpose_a=False unit_diagonal=False] a c; e:$d[3] = reshape[new_sizes=(3,)] d in (e,) }, "
           "transpose_solve={ lambda ; a:$d[3,3] b:$d[3]. let c:$d[3,1] = reshape[new_sizes=(3, 1)] b; d:$d[3,1] = "
           "triangular_solve[conjugate_a=False "
           "left_side=True lower=True transpose_a=True unit_diagonal=False] a c; e:$d[3] = reshape[new_sizes=(3,)] d in (e,) })] l l l l b "
           "in (x,)",
       0, 2, true, 8},
  };
}

}  // namespace weft::test
