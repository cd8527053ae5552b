#include "weft/core/ir/pass_notes.h"

namespace weft::detail {
namespace {
thread_local PassNotes* listening = nullptr;
}  // namespace

PassNotes::PassNotes() : outer_(listening) { listening = this; }
PassNotes::~PassNotes() { listening = outer_; }

NotedPass::NotedPass(std::string_view pass, const Jaxpr& before) : listener_(listening), pass_(pass) {
  if (!listener_) return;
  ++listener_->depth_;
  before_ = before;
}
NotedPass::~NotedPass() {
  if (listener_) --listener_->depth_;
}
void NotedPass::made(const Jaxpr& after, std::string_view part) const {
  if (!listener_ || listener_->depth_ != 1 || &before_->data() == &after.data()) return;
  listener_->notes_.push_back({std::string(pass_) + (part.empty() ? "" : ", " + std::string(part)), *before_, after});
}

}  // namespace weft::detail
