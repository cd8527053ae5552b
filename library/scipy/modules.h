// jax.scipy and jax.experimental by the names of their modules, with what differs there from the functions of one name in jax.numpy.
#pragma once
#include <concepts>
#include <string>

#include "weft/library/linalg/linalg.h"
#include "weft/library/nn/nn.h"

namespace weft {

/// jax.scipy: all of weft's functions, also by the modules that they are in there, `jax::scipy::special::erf(x)`.
namespace scipy {
using namespace ::weft;
namespace signal = ::weft;
namespace ndimage = ::weft;
namespace integrate = ::weft;
namespace interpolate = ::weft;
namespace special {
using namespace ::weft;
using nn::log_softmax, nn::softmax;
}  // namespace special
namespace sparse {
namespace linalg = ::weft::linalg;
}
namespace linalg {
using namespace ::weft::linalg;

/// Options of jax.scipy.linalg's cholesky.
struct TriangleOptions {
  bool lower = false;  ///< the factor is L with L L^H = a
};
/// The U with U^H U = a, as in jax.scipy.linalg, where the upper factor is the default; of a only the factor's triangle is read. NaN if
/// a is not positive definite.
Array cholesky(Arg a, TriangleOptions options = {});
Array cholesky(Arg a, std::same_as<bool> auto lower) { return cholesky(std::move(a), TriangleOptions{lower}); }
/// Options of jax.scipy.linalg's qr.
struct ScipyQrOptions {
  std::string mode = "full";  ///< "full": q is square; "economic": q has as many columns as a; "r": q holds nothing
};
/// q r = a with a square q, as in jax.scipy.linalg, where that is the default. Throws Error for modes that there aren't.
Qr qr(Arg a, ScipyQrOptions options = {});
Qr qr(Arg a, std::convertible_to<std::string> auto mode) { return qr(std::move(a), ScipyQrOptions{mode}); }
}  // namespace linalg
}  // namespace scipy
namespace jax::experimental {
using namespace ::weft;
namespace ode = ::weft;
}  // namespace jax::experimental

}  // namespace weft
