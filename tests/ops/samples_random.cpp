// Samples of random numbers. Keys are made of words, which are numbers as all inputs of samples.
#include "samples.h"

namespace weft::test {

using namespace detail;

std::vector<SampleText> random_samples() {
  const std::string key = "k:key<fry>[3] = random_wrap[impl=fry] a; ";
  std::vector<SampleText> all = {
      {"random_seed", kInteger, "a:$d[3]. let k:key<fry>[3] = random_seed[impl=fry] a; b:u32[3,2] = random_unwrap k in (b,)"},
      {"random_wrap", kUint32, "a:$d[3,2]. let " + key + "s:key<fry>[3] = rev[dimensions=(0,)] k; b:u32[3,2] = random_unwrap s in (b,)"},
      {"random_unwrap", kUint32, "a:$d[3,2]. let " + key + "b:u32[3,2] = random_unwrap k in (b,)"},
      {"random_split", kUint32,
       "a:$d[3,2]. let " + key + "s:key<fry>[3,2] = random_split[shape=(2,)] k; b:u32[3,2,2] = random_unwrap s in (b,)"},
      {"random_fold_in", kUint32,
       "a:$d[3,2] c:$d[]. let " + key + "s:key<fry>[3] = random_fold_in k c; b:u32[3,2] = random_unwrap s in (b,)"},
      {"random_gamma", kFloating, "a:u32[3,2] b:$d[3]. let " + key + "c:$d[3] = exp b; d:$d[3] = random_gamma[log_space=False] k c in (d,)",
       0, 2, false, 0},
      {"random_gamma", kFloating, "a:u32[3,2] b:$d[3]. let " + key + "c:$d[3] = exp b; d:$d[3] = random_gamma[log_space=True] k c in (d,)",
       0, 2, false, 0},
      {"random_gamma_grad", kFloating, "a:$d[3] b:$d[3]. let c:$d[3] = exp a; d:$d[3] = exp b; e:$d[3] = random_gamma_grad c d in (e,)", 0,
       2, false, 4},
  };
  for (const std::string bits : {"8", "16", "32", "64"})
    all.push_back({"random_bits", kUint32,
                   "a:$d[3,2]. let " + key + "b:u" + bits + "[3,2,3] = random_bits[bit_width=" + bits + " shape=(2, 3)] k in (b,)"});
  return all;
}

}  // namespace weft::test
