#include "weft/transforms/maps/map_scope.h"

#include "weft/core/base/thread_object.h"

namespace weft::detail {
namespace {
struct OpenBodies {
  int count = 0;
};
}  // namespace

MapBody::MapBody() { ++of_thread<OpenBodies>().count; }
MapBody::~MapBody() { --of_thread<OpenBodies>().count; }
bool inside_map() { return of_thread<OpenBodies>().count > 0; }

}  // namespace weft::detail
