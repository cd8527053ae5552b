// The named axes in the text of a mesh.
#include "weft/core/text/text.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

std::vector<AxisFrame> axes_of_mesh(std::string_view text) {
  std::vector<AxisFrame> axes;
  ParamReader r(text, 0, text.size());
  if (!r.accept("Mesh(") && !r.accept("AbstractMesh(")) return axes;
  while (r.peek() == '\'') {
    std::string name = r.read_string();
    r.expect(":");
    int size = 0;
    read_param(r, size);
    axes.push_back({std::move(name), size});
    r.accept(",");
  }
  return axes;
}

void enter_axes(std::optional<TraceScope>& scope, std::string_view mesh) {
  std::vector<AxisFrame> axes = axes_of_mesh(mesh);
  if (axes.empty()) return;
  Ref<Trace> trace = make_ref<Trace>("a program's text");
  trace->axes = std::move(axes);
  scope.emplace(std::move(trace));
}

}  // namespace weft::detail
