// The fake driver's graphs: capturing, conditional nodes, launches.
#include <algorithm>
#include <iterator>

#include "fake_state.h"

using namespace fake_cuda;

extern "C" {

Result cuStreamBeginCapture_v2(Stream s, int) {
  ENTER(cuStreamBeginCapture_v2)
  NEEDS(may_use(s))
  if (captures(s)) return kInvalid;
  flush();
  FakeStream& stream = of(s);
  stream.capturing = new FakeGraph, stream.behind = nullptr, stream.capturer = std::this_thread::get_id(), stream.invalid_capture = false;
  return kSuccess;
}
Result cuStreamEndCapture(Stream s, Graph* g) {
  ENTER_TO_DESTROY(cuStreamEndCapture)
  if (!captures(s)) return kInvalid;
  FakeStream& stream = of(s);
  if (stream.capturer != std::this_thread::get_id()) return kWrongThread;
  *g = nullptr;
  if (stream.capturing->inner) {
    if (injected == kSuccess) *g = reinterpret_cast<Graph>(stream.capturing);
    stream.capturing = nullptr;
    return stream.invalid_capture ? kCaptureInvalidated : injected;
  }
  std::unique_ptr<FakeGraph> captured(std::exchange(stream.capturing, nullptr));
  if (stream.invalid_capture) return kCaptureInvalidated;
  if (injected == kSuccess) *g = reinterpret_cast<Graph>(captured.release()), state().graphs.insert(*g);
  return injected;
}
Result cuGraphInstantiateWithFlags(GraphExec* e, Graph g, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags)
  *e = reinterpret_cast<GraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph*>(g)));
  state().execs.insert(*e);
  return kSuccess;
}
Result cuGraphLaunch(GraphExec e, Stream s) {
  ENTER(cuGraphLaunch)
  NEEDS(may_use(s))
  flush();
  if (!state().execs.count(e)) return kIllegal;
  for (const Work& w : reinterpret_cast<FakeGraph*>(e)->work) push(s, w);
  return progress();
}
Result cuStreamGetCaptureInfo_v3(Stream s, int* status, std::uint64_t* id, Graph* g, const Node** behind, const void** edges,
                                 std::size_t* n) {
  ENTER(cuStreamGetCaptureInfo_v3)
  *status = !captures(s) ? 0 : of(s).invalid_capture ? 2 : kCaptureGoesOn, *id = 1;
  if (*status != kCaptureGoesOn) return kSuccess;
  *g = reinterpret_cast<Graph>(of(s).capturing), *behind = &of(s).behind, *edges = nullptr, *n = of(s).behind ? 1 : 0;
  return kSuccess;
}
Result cuStreamUpdateCaptureDependencies_v2(Stream s, Node* nodes, const void*, std::size_t n, unsigned flags) {
  ENTER(cuStreamUpdateCaptureDependencies_v2)
  if (!captures(s) || n != 1 || flags != kSetDependencies) return kInvalid;
  return of(s).behind = nodes[0], kSuccess;
}
Result cuStreamBeginCaptureToGraph(Stream s, Graph g, const Node*, const void*, std::size_t n, int) {
  ENTER(cuStreamBeginCaptureToGraph)
  NEEDS(may_use(s))
  auto* graph = reinterpret_cast<FakeGraph*>(g);
  if (captures(s) || !graph->inner || n != 0) return kInvalid;
  FakeStream& stream = of(s);
  stream.capturing = graph, stream.behind = nullptr, stream.capturer = std::this_thread::get_id(), stream.invalid_capture = false;
  return kSuccess;
}
Result cuGraphConditionalHandleCreate(Condition* c, Graph, Context context, unsigned value, unsigned flags) {
  ENTER(cuGraphConditionalHandleCreate)
  if (flags > 1 || context != current) return kInvalid;
  *c = state().conditions.size() + 1;
  state().conditions[*c] = value, state().condition_contexts[*c] = context;
  return kSuccess;
}
Result cuGraphAddNode_v2(Node* made, Graph g, const Node* behind, const void* edges, std::size_t n, ConditionalNode* node) {
  ENTER(cuGraphAddNode_v2)
  State& s = state();
  auto& graph = *reinterpret_cast<FakeGraph*>(g);
  const bool zero =
      std::all_of(std::begin(node->rest), std::end(node->rest), [](long long v) { return v == 0; }) && node->reserved_too == 0;
  if (node->type != kNodeConditional || node->size != 1 || !zero || edges || n > 1 || (n == 1 ? behind[0] : nullptr) != node_of(graph))
    return kInvalid;
  const Condition c = node->condition;
  if (!s.conditions.count(c) || s.condition_contexts[c] != node->context || node->context != current) return kInvalid;
  const auto body = std::make_shared<FakeGraph>();
  body->inner = true;
  graph.bodies.push_back(body);
  static thread_local Graph given[1];
  given[0] = reinterpret_cast<Graph>(body.get()), node->bodies = given;
  const bool loop = node->kind == kConditionWhile;
  graph.work.push_back({[body, c, loop] {
                          const auto& value = state().conditions[c];
                          while (value != 0) {
                            for (const Work& w : body->work)
                              if (const Result r = w.run(); r != kSuccess) return r;
                            if (!loop) break;
                          }
                          return kSuccess;
                        },
                        nullptr});
  return *made = node_of(graph), kSuccess;
}
Result cuGraphExecDestroy(GraphExec e) {
  ENTER_TO_DESTROY(cuGraphExecDestroy)
  if (!state().execs.erase(e)) return kIllegal;
  delete reinterpret_cast<FakeGraph*>(e);
  return injected;
}
Result cuGraphDestroy(Graph g) {
  ENTER_TO_DESTROY(cuGraphDestroy)
  if (!state().graphs.erase(g)) return kIllegal;
  delete reinterpret_cast<FakeGraph*>(g);
  return injected;
}

}  // extern "C"
