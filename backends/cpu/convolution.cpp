// Convolutions of float32 by oneDNN. One of three primitives computes what conv_general_dilated says: the forward convolution; its gradient
// in the kernel, where the window is larger than the result (what transposition in the kernel gives); its gradient in the operand, where
// the operand has holes (what transposition of a strided convolution gives).
//
// Layouts are chosen once: the arrays' own where oneDNN has fast code for them, otherwise its favourite ones with copies in and out.
// The work is cut along the batch, by the sizes alone.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "weft/backends/common/native_step.h"
#include "weft/backends/cpu/dnnl_tools.h"
#include "weft/backends/cpu/scratch.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

using dnnl::memory;
using Dims = memory::dims;

/// The problem in oneDNN's terms. Strides are those of the program's arrays, by (batch, channels, spatial ...) of the operand `src` and the
/// result `dst`, and by (groups, output channels, input channels, spatial ...) of `weights`.
struct Geometry {
  enum class Form { forward, backward_data, backward_weights };
  Form form = Form::forward;
  std::int64_t batch = 1, groups = 1, inputs = 1, outputs = 1;  ///< channels of all groups together
  Dims src_size, dst_size, kernel, stride, dilation, low, high;
  Dims src_strides, weights_strides, dst_strides;
  double multiplications = 0;
  bool gaps = false;            ///< padding or holes: zeros that belong to no operand
  bool all_taps_matter = true;  ///< each element of rhs is multiplied with some element of lhs

  Dims src() const { return with_front({batch, inputs}, src_size); }
  Dims dst() const { return with_front({batch, outputs}, dst_size); }
  Dims weights() const { return with_front({groups, outputs / groups, inputs / groups}, kernel); }
  static Dims with_front(Dims front, const Dims& rest) {
    front.insert(front.end(), rest.begin(), rest.end());
    return front;
  }
};

Dims strides_by(const Shape& shape, const std::vector<int>& spec) {
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  Dims by;
  for (int d : spec) by.push_back(strides[static_cast<std::size_t>(d)]);
  return by;
}
/// (features, batch, spatial ...) of (batch, features, spatial ...).
Dims first_swapped(Dims d) {
  std::swap(d[0], d[1]);
  return d;
}
/// Whether each tap of the window meets an element at some position of the window.
bool each_tap_matters(const WindowDim& d) {
  for (std::int64_t tap = 0; tap < d.window; ++tap) {
    const std::int64_t behind = d.low - tap * d.window_dilation;
    std::int64_t at = behind > 0 ? (behind + d.stride - 1) / d.stride : 0;
    const std::int64_t end = std::min(d.positions(), at + d.base_dilation);  // from there on the holes are the same ones
    while (at < end && d.element(at, tap) < 0) ++at;
    if (at >= end) return false;
  }
  return true;
}

/// Whether some element is an infinity or NaN.
bool any_nonfinite(const float* x, std::int64_t n) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  for (std::int64_t i = 0; i < n;) {
    std::uint32_t found = 0;
    for (const std::int64_t end = std::min(n, i + 4096); i < end; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(x[i]);
      found |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
    }
    if (found) return true;
  }
  return false;
}

/// The stride of groups put in front of strides by (channels in which the groups are, ...).
Dims with_groups(const Dims& d, std::int64_t channels_of_group) { return Geometry::with_front({d[0] * channels_of_group}, d); }

/// Nothing where the form doesn't fit.
std::optional<Geometry> make_geometry(Geometry::Form form, const ConvParams& p, const Shape& lhs, const Shape& rhs, const Shape& out) {
  const auto& [l, r, o] = p.dimension_numbers;
  const std::size_t spatial = l.size() - 2;
  if (spatial < 1 || spatial > 3) return {};
  const std::vector<WindowDim> windows = conv_windows(p, lhs, rhs);
  const Dims lhs_strides = strides_by(lhs, l), rhs_strides = strides_by(rhs, r), out_strides = strides_by(out, o);
  const std::int64_t batch = lhs[l[0]], features = lhs[l[1]], outputs = rhs[r[0]];
  Geometry g;
  g.form = form;
  g.multiplications = static_cast<double>(out.num_elements()) * static_cast<double>(rhs[r[1]]);
  bool holes = false, strided = false;
  for (const WindowDim& d : windows) {
    holes |= d.base_dilation > 1, strided |= d.stride > 1;
    g.gaps |= d.base_dilation > 1 || d.low > 0 || d.high > 0;
    g.all_taps_matter = g.all_taps_matter && each_tap_matters(d);
    g.multiplications *= static_cast<double>(d.window);
  }
  switch (form) {
    case Geometry::Form::forward:
      if (holes || p.batch_group_count > 1) return {};
      g.batch = batch, g.groups = p.feature_group_count, g.inputs = features, g.outputs = outputs;
      g.src_strides = lhs_strides, g.dst_strides = out_strides;
      g.weights_strides = with_groups(rhs_strides, outputs / g.groups);
      break;
    case Geometry::Form::backward_data:
      if (strided || p.batch_group_count > 1) return {};
      g.batch = batch, g.groups = p.feature_group_count, g.inputs = outputs, g.outputs = features;
      g.src_strides = out_strides, g.dst_strides = lhs_strides;
      break;
    case Geometry::Form::backward_weights:
      if (holes || p.feature_group_count > 1) return {};
      g.batch = features, g.groups = p.batch_group_count, g.inputs = batch, g.outputs = outputs;
      g.src_strides = first_swapped(lhs_strides), g.dst_strides = first_swapped(rhs_strides);
      g.weights_strides = with_groups(first_swapped(out_strides), outputs / g.groups);
      break;
  }
  for (const WindowDim& d : windows) {
    std::int64_t low = d.low, dilation = d.window_dilation, stride = d.stride, kernel = d.window, src = d.size, dst = d.positions();
    if (g.form == Geometry::Form::backward_data) {
      stride = d.base_dilation, src = d.positions(), dst = d.size;
      low = (kernel - 1) * dilation - d.low;
    } else if (g.form == Geometry::Form::backward_weights) {
      std::swap(kernel, dst);
      std::swap(stride, dilation);
    }
    const std::int64_t reach = (kernel - 1) * dilation, high = (dst - 1) * stride + reach + 1 - src - low;
    // Padding beyond the kernel's extent, and negative padding, are rare.
    if (low < 0 || low > reach || high > reach || high + stride <= 0) return {};
    g.src_size.push_back(src), g.dst_size.push_back(dst), g.kernel.push_back(kernel), g.stride.push_back(stride);
    g.dilation.push_back(dilation - 1), g.low.push_back(low), g.high.push_back(high);
  }
  if (g.form == Geometry::Form::backward_data) {  // of the kernel reversed, laid out densely
    Dims dense;
    std::int64_t total = 1;
    const Dims sizes = g.weights();
    for (std::size_t i = sizes.size(); i-- > 0; total *= sizes[i]) dense.insert(dense.begin(), total);
    g.weights_strides = dense;
  }
  return g;
}

/// A primitive for a part of the batch, and the copies around it.
class Piece {
 public:
  Piece(const Geometry& g, bool own_layouts) : form_(g.form) {
    require_library_memory();
    const auto f32 = memory::data_type::f32;
    user_src_ = memory::desc(g.src(), f32, g.src_strides), user_dst_ = memory::desc(g.dst(), f32, g.dst_strides);
    const memory::desc any_src(g.src(), f32, memory::format_tag::any), any_dst(g.dst(), f32, memory::format_tag::any);
    const memory::desc src = own_layouts ? user_src_ : any_src, dst = own_layouts ? user_dst_ : any_dst;
    Dims kernel = g.weights();
    if (g.groups == 1) kernel.erase(kernel.begin());
    const memory::desc weights(kernel, f32, memory::format_tag::any);
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto prop = form_ == Geometry::Form::forward ? dnnl::prop_kind::forward_inference : dnnl::prop_kind::forward_training;
    const dnnl::convolution_forward::primitive_desc forward({prop, algorithm, src, weights, dst, g.stride, g.dilation, g.low, g.high},
                                                            attributes, library_engine());
    const auto keep = [&](const auto& description, memory::desc s, memory::desc w, memory::desc d) {
      src_ = s, weights_ = w, dst_ = d, scratch_ = description.scratchpad_desc().get_size();
      name_ = description.impl_info_str();
    };
    switch (form_) {
      case Geometry::Form::forward:
        keep(forward, forward.src_desc(), forward.weights_desc(), forward.dst_desc());
        primitive_ = dnnl::convolution_forward(forward);
        break;
      case Geometry::Form::backward_data: {
        const dnnl::convolution_backward_data::primitive_desc d({algorithm, src, weights, dst, g.stride, g.dilation, g.low, g.high},
                                                                attributes, library_engine(), forward);
        keep(d, d.diff_src_desc(), d.weights_desc(), d.diff_dst_desc());
        primitive_ = dnnl::convolution_backward_data(d);
        break;
      }
      case Geometry::Form::backward_weights: {
        const dnnl::convolution_backward_weights::primitive_desc d({algorithm, src, weights, dst, g.stride, g.dilation, g.low, g.high},
                                                                   attributes, library_engine(), forward);
        keep(d, d.src_desc(), d.diff_weights_desc(), d.diff_dst_desc());
        primitive_ = dnnl::convolution_backward_weights(d);
        break;
      }
    }
    if (src_ != user_src_) copy_src_ = form_ == Geometry::Form::backward_data ? make_copy(src_, user_src_) : make_copy(user_src_, src_);
    if (dst_ != user_dst_) copy_dst_ = form_ == Geometry::Form::forward ? make_copy(dst_, user_dst_) : make_copy(user_dst_, dst_);
  }

  bool is_fast() const { return name_.rfind("jit", 0) == 0 || name_.rfind("brg", 0) == 0; }
  bool is_hopeless() const { return name_.rfind("ref", 0) == 0; }
  const memory::desc& weights() const { return weights_; }

  /// The weights in the layout of weights().
  void run(float* src, float* weights, float* dst) const {
    const auto align = [](std::size_t n) { return (n + 63) / 64 * 64; };
    const std::size_t src_bytes = copy_src_ ? align(src_.get_size()) : 0, dst_bytes = copy_dst_ ? align(dst_.get_size()) : 0;
    char* scratch = static_cast<char*>(library_scratch(src_bytes + dst_bytes + scratch_));
    memory s(src_, library_engine(), copy_src_ ? static_cast<void*>(scratch) : src);
    memory d(dst_, library_engine(), copy_dst_ ? static_cast<void*>(scratch + src_bytes) : dst);
    const memory w(weights_, library_engine(), weights),
        pad(memory::desc({static_cast<std::int64_t>(scratch_)}, memory::data_type::u8, Dims{1}), library_engine(),
            scratch + src_bytes + dst_bytes);
    memory user_src(user_src_, library_engine(), src), user_dst(user_dst_, library_engine(), dst);
    if (copy_src_ && form_ != Geometry::Form::backward_data)
      execute(*copy_src_, {{{DNNL_ARG_FROM, user_src.get()}, {DNNL_ARG_TO, s.get()}}});
    if (copy_dst_ && form_ != Geometry::Form::forward) execute(*copy_dst_, {{{DNNL_ARG_FROM, user_dst.get()}, {DNNL_ARG_TO, d.get()}}});
    const bool data = form_ == Geometry::Form::backward_data, gradient = form_ == Geometry::Form::backward_weights;
    const std::array<dnnl_exec_arg_t, 4> args{{{data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, s.get()},
                                               {gradient ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, w.get()},
                                               {form_ == Geometry::Form::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, d.get()},
                                               {DNNL_ARG_SCRATCHPAD, pad.get()}}};
    check(dnnl_primitive_execute(primitive_.get(), library_stream().get(), 4, args.data()));
    if (copy_src_ && data) execute(*copy_src_, {{{DNNL_ARG_FROM, s.get()}, {DNNL_ARG_TO, user_src.get()}}});
    if (copy_dst_ && form_ == Geometry::Form::forward) execute(*copy_dst_, {{{DNNL_ARG_FROM, d.get()}, {DNNL_ARG_TO, user_dst.get()}}});
  }

  static dnnl::reorder make_copy(const memory::desc& from, const memory::desc& to) {
    return dnnl::reorder(dnnl::reorder::primitive_desc(library_engine(), from, library_engine(), to));
  }
  static void execute(const dnnl::primitive& p, const std::array<dnnl_exec_arg_t, 2>& args) {
    const LibraryUse use;
    check(dnnl_primitive_execute(p.get(), library_stream().get(), 2, args.data()));
  }
  static void check(dnnl_status_t status) {
    if (status != dnnl_success) throw Error("conv_general_dilated: oneDNN could not run the convolution");
  }

 private:
  Geometry::Form form_;
  memory::desc user_src_, user_dst_, src_, weights_, dst_;
  std::size_t scratch_ = 0;
  dnnl::primitive primitive_;
  std::optional<dnnl::reorder> copy_src_, copy_dst_;
  std::string name_;
};

class Convolution final : public NativeStep {
 public:
  Convolution(Geometry g, const ParamsBase& params, std::span<const Aval> operands, const Aval& result, bool own_layouts)
      : g_(std::move(g)), params_(&params), avals_{operands[0], operands[1], result} {
    forbid_library_threads();
    wanted_ = g_.multiplications < 3e6 ? 1 : static_cast<std::int64_t>(std::clamp(g_.multiplications / 1.5e7, 2., 64.));
    while (wanted_ & (wanted_ - 1)) wanted_ += wanted_ & -wanted_;  // a power of two
    piece_ = (g_.batch + wanted_ - 1) / wanted_;
    pieces_ = (g_.batch + piece_ - 1) / piece_;
    Geometry part = g_;
    part.batch = piece_;
    main_ = std::make_unique<Piece>(part, own_layouts);
    if (const std::int64_t rest = g_.batch - (pieces_ - 1) * piece_; rest != piece_) {
      part.batch = rest;
      last_ = std::make_unique<Piece>(part, own_layouts);
      // The pieces share one copy of the weights.
      if (last_->weights() != main_->weights())
        pieces_ = 1, piece_ = g_.batch, main_ = std::make_unique<Piece>(g_, own_layouts), last_ = nullptr;
    }
    Dims kernel = g_.weights(), strides = g_.weights_strides;
    if (g_.groups == 1) kernel.erase(kernel.begin()), strides.erase(strides.begin());
    user_weights_ = memory::desc(kernel, memory::data_type::f32, strides);
    const memory::desc& w = main_->weights();
    if (user_weights_ != w)
      copy_weights_ = g_.form == Geometry::Form::backward_weights ? Piece::make_copy(w, user_weights_) : Piece::make_copy(user_weights_, w);
    if (g_.form == Geometry::Form::backward_data) {
      reversed_ = true;
      rhs_strides_ = strides_by(operands[1].shape, params_as<ConvParams>(params).dimension_numbers.rhs_spec);
    }
  }

  bool is_fast() const { return main_->is_fast(); }
  bool is_hopeless() const { return main_->is_hopeless(); }

  /// oneDNN skips some of the zeros of padding and dilation and multiplies others. The reference multiplies all of them, so an infinity or
  /// NaN of rhs gives NaN. Whether there is one is checked in the smaller of rhs and the result.
  void run(std::span<void* const> addresses) const override {
    const auto nonfinite = [&](std::size_t i) { return any_nonfinite(static_cast<const float*>(addresses[i]), avals_[i].size()); };
    const bool look_first = g_.gaps && (!g_.all_taps_matter || avals_[1].size() <= avals_[2].size());
    if (look_first && nonfinite(1)) return run_reference(addresses);
    run_library(addresses);
    if (g_.gaps && !look_first && nonfinite(2) && nonfinite(1)) run_reference(addresses);
  }

 private:
  void run_reference(std::span<void* const> addresses) const {
    const HostTensor in[] = {{avals_[0], addresses[0]}, {avals_[1], addresses[1]}}, out[] = {{avals_[2], addresses[2]}};
    conv_reference({*params_, in, out});
  }
  void run_library(std::span<void* const> addresses) const {
    forbid_library_threads();
    auto *lhs = static_cast<float*>(addresses[0]), *rhs = static_cast<float*>(addresses[1]), *out = static_cast<float*>(addresses[2]);
    const std::size_t bytes = main_->weights().get_size();
    const auto floats = static_cast<std::int64_t>((bytes + 63) / 64 * 16);
    switch (g_.form) {
      case Geometry::Form::forward:
      case Geometry::Form::backward_data: {
        const Scratch<float> reversed(reversed_ ? dense_weights() : 0), packed(copy_weights_ ? floats : 0);
        float* weights = rhs;
        if (reversed_) reverse(rhs, reversed.get()), weights = reversed.get();
        if (copy_weights_) {
          const memory from(user_weights_, library_engine(), weights), to(main_->weights(), library_engine(), packed.get());
          Piece::execute(*copy_weights_, {{{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}}});
          weights = packed.get();
        }
        float *src = reversed_ ? out : lhs, *dst = reversed_ ? lhs : out;
        in_pieces([&](const Piece& piece, std::int64_t i) {
          piece.run(src + i * piece_ * g_.src_strides[0], weights, dst + i * piece_ * g_.dst_strides[0]);
        });
        break;
      }
      case Geometry::Form::backward_weights: {
        const bool direct = pieces_ == 1 && !copy_weights_;
        const Scratch<float> sums(direct ? 0 : floats * pieces_);
        in_pieces([&](const Piece& piece, std::int64_t i) {
          piece.run(lhs + i * piece_ * g_.src_strides[0], direct ? out : sums.get() + i * floats, rhs + i * piece_ * g_.dst_strides[0]);
        });
        if (direct) break;
        for (std::int64_t i = 1; i < pieces_; ++i)
          for (std::int64_t k = 0, n = static_cast<std::int64_t>(bytes / sizeof(float)); k < n; ++k) sums[k] += sums[i * floats + k];
        if (copy_weights_) {
          const memory from(main_->weights(), library_engine(), sums.get()), to(user_weights_, library_engine(), out);
          Piece::execute(*copy_weights_, {{{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}}});
        } else {
          std::memcpy(out, sums.get(), bytes);
        }
      }
    }
  }

  template <class F>
  void in_pieces(F&& f) const {
    const auto one = [&](std::int64_t i) {
      const LibraryUse use;
      forbid_library_threads();
      f(last_ && i + 1 == pieces_ ? *last_ : *main_, i);
    };
    if (pieces_ == 1)
      one(0);
    else
      parallel_for(pieces_, one);
  }
  std::int64_t dense_weights() const {
    std::int64_t n = 1;
    for (std::int64_t d : g_.weights()) n *= d;
    return n;
  }
  /// The kernel reversed in space, as (groups, features, outputs, spatial ...).
  void reverse(const float* rhs, float* to) const {
    const Dims sizes = g_.weights();  // (groups, oneDNN's outputs: features of the operand, its inputs: outputs, spatial ...)
    Dims at(sizes.size(), 0);
    const std::int64_t n = dense_weights();
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t from = (at[0] * sizes[2] + at[2]) * rhs_strides_[0] + at[1] * rhs_strides_[1];
      for (std::size_t d = 3; d < sizes.size(); ++d) from += (sizes[d] - 1 - at[d]) * rhs_strides_[d - 1];
      to[i] = rhs[from];
      for (std::size_t d = sizes.size(); d-- > 0; at[d] = 0)
        if (++at[d] < sizes[d]) break;
    }
  }

  const Geometry g_;
  const ParamsRef params_;
  const std::array<Aval, 3> avals_;  ///< of lhs, rhs and the result
  std::int64_t wanted_ = 1, piece_ = 1, pieces_ = 1;
  std::unique_ptr<Piece> main_, last_;
  memory::desc user_weights_;
  std::optional<dnnl::reorder> copy_weights_;
  bool reversed_ = false;
  Dims rhs_strides_;
};

std::unique_ptr<NativeStep> make_convolution(const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval> results) {
  const Aval& result = results[0];
  const auto& p = params_as<ConvParams>(params);
  if (operands[0].dtype != float32 || result.dtype != float32 || operands[0].size() == 0 || operands[1].size() == 0) return nullptr;
  double window = 1, positions = 1;
  for (const WindowDim& d : conv_windows(p, operands[0].shape, operands[1].shape))
    window *= static_cast<double>(d.window), positions *= static_cast<double>(d.positions());
  using Form = Geometry::Form;
  const bool of_kernel = window > positions;
  std::unique_ptr<Convolution> best;
  for (const Form form :
       {of_kernel ? Form::backward_weights : Form::forward, of_kernel ? Form::forward : Form::backward_weights, Form::backward_data}) {
    const std::optional<Geometry> g = make_geometry(form, p, operands[0].shape, operands[1].shape, result.shape);
    if (!g) continue;
    for (const bool own_layouts : {true, false}) try {
        auto c = std::make_unique<Convolution>(*g, params, operands, result, own_layouts);
        if (c->is_fast()) return c;
        if (!best && !c->is_hopeless()) best = std::move(c);
      } catch (const dnnl::error&) {
        // No code for this form in these layouts.
      }
  }
  return best;
}

const RuleOf<NativeStepRules> convolution_step(convolution_primitive(), make_convolution);

}  // namespace
}  // namespace weft::detail
