#include "weft/backends/cpu/interpreter/interpreted_code.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

#include "weft/backends/cpu/interpreter/interpreted_operations.h"

namespace weft::detail {
namespace {

using interpreted::Op;
using interpreted::Run;

struct Unknown {};

constexpr int kAlign = 64;

struct Copy {
  int to, from, bytes;
};
struct Edge {
  int target = -1;
  std::vector<Copy> copies;
  bool crossing = false;  ///< some value is read after another took its place
};
struct Step {
  enum class Kind { plain, jump, branch, call, done } kind = Kind::plain;
  Op op;
  int edges[2] = {-1, -1};
  int callee = -1;
};

/// The interpreted program, which does not refer to LLVM's data.
struct Code {
  Code() = default;
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  void run(char* m) const;

  std::vector<Step> steps;
  std::vector<Edge> edges;
  std::vector<std::unique_ptr<Code>> callees;
  std::deque<std::vector<int>> tables;  ///< of steps
  // Frames: constants first.
  std::vector<char> constants;
  std::vector<int> parameters;
  int size = 0, aside = 0, aside_bytes = 0, result = 0, result_bytes = 0;
};

struct Frame {
  explicit Frame(const Code& c) : memory(static_cast<char*>(std::aligned_alloc(kAlign, static_cast<std::size_t>(c.size)))) {
    if (!memory) throw std::bad_alloc();
    std::memcpy(memory, c.constants.data(), c.constants.size());
  }
  ~Frame() { std::free(memory); }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;
  char* const memory;
};

void follow(const Edge& e, char* m, char* aside) {
  if (!e.crossing) {
    for (const Copy& c : e.copies) std::memcpy(m + c.to, m + c.from, static_cast<std::size_t>(c.bytes));
    return;
  }
  const char* from = aside;
  for (const Copy& c : e.copies) std::memcpy(aside, m + c.from, static_cast<std::size_t>(c.bytes)), aside += c.bytes;
  for (const Copy& c : e.copies) std::memcpy(m + c.to, from, static_cast<std::size_t>(c.bytes)), from += c.bytes;
}

void Code::run(char* m) const {
  const Step* s = steps.data();
  for (;;) {
    switch (s->kind) {
      case Step::Kind::plain:
        s->op.run(s->op, m);
        ++s;
        continue;
      case Step::Kind::branch:
      case Step::Kind::jump: {
        const Edge& e = edges[static_cast<std::size_t>(s->edges[s->kind == Step::Kind::branch && !m[s->op.a] ? 1 : 0])];
        follow(e, m, m + aside);
        s = steps.data() + e.target;
        continue;
      }
      case Step::Kind::call: {
        const Code& f = *callees[static_cast<std::size_t>(s->callee)];
        const Frame inner(f);
        for (const Copy& c : edges[static_cast<std::size_t>(s->edges[0])].copies)
          std::memcpy(inner.memory + c.to, m + c.from, static_cast<std::size_t>(c.bytes));
        f.run(inner.memory);
        if (f.result_bytes > 0) std::memcpy(m + s->op.out, inner.memory + f.result, static_cast<std::size_t>(f.result_bytes));
        ++s;
        continue;
      }
      case Step::Kind::done: return;
    }
  }
}

/// Makes code of a function. Throws Unknown.
class Reader {
 public:
  Reader(const llvm::Function& f, Code& code) : layout_(f.getParent()->getDataLayout()), code_(code) { read(f); }

 private:
  int bytes_of(llvm::Type* t) const {
    const auto element = [&](llvm::Type* e) -> int {
      if (interpreted::is_bool_or_mask(e)) return 1;
      if (e->isPointerTy() || e->isFloatTy() || e->isDoubleTy() || e->isIntegerTy(8) || e->isIntegerTy(16) || e->isIntegerTy(32) ||
          e->isIntegerTy(64))
        return static_cast<int>(layout_.getTypeStoreSize(e).getFixedValue());
      throw Unknown();
    };
    if (auto* v = llvm::dyn_cast<llvm::FixedVectorType>(t)) return static_cast<int>(v->getNumElements()) * element(v->getElementType());
    return element(t);
  }
  static int lanes_of(llvm::Type* t) {
    const auto* v = llvm::dyn_cast<llvm::FixedVectorType>(t);
    return v ? static_cast<int>(v->getNumElements()) : 1;
  }
  int reserve(int bytes) {
    const int at = code_.size;
    code_.size += (bytes + kAlign - 1) / kAlign * kAlign;
    if (code_.size > (1 << 22)) throw Unknown();
    return at;
  }
  void put(const llvm::Constant* c, char* to) const {
    const int bytes = bytes_of(c->getType());
    if (llvm::isa<llvm::UndefValue>(c) || c->isNullValue()) {  // poison is undefined too
      std::memset(to, 0, static_cast<std::size_t>(bytes));
    } else if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(c); number && !c->getType()->isVectorTy()) {
      const std::uint64_t v = number->getZExtValue();
      std::memcpy(to, &v, static_cast<std::size_t>(bytes));
    } else if (const auto* f = llvm::dyn_cast<llvm::ConstantFP>(c); f && !c->getType()->isVectorTy()) {
      const std::uint64_t v = f->getValueAPF().bitcastToAPInt().getZExtValue();
      std::memcpy(to, &v, static_cast<std::size_t>(bytes));
    } else if (c->getType()->isVectorTy()) {
      const int lanes = lanes_of(c->getType());
      for (int i = 0; i < lanes; ++i) {
        const llvm::Constant* e = c->getAggregateElement(static_cast<unsigned>(i));
        if (!e) throw Unknown();
        put(e, to + i * (bytes / lanes));
      }
    } else {
      throw Unknown();
    }
  }
  int place(const llvm::Value* v) {
    if (const auto found = places_.find(v); found != places_.end()) return found->second;
    throw Unknown();
  }
  void read_constants(const llvm::Function& f) {
    for (const llvm::BasicBlock& b : f)
      for (const llvm::Instruction& i : b)
        for (const llvm::Value* v : i.operands())
          if (const auto* c = llvm::dyn_cast<llvm::Constant>(v); c && !llvm::isa<llvm::GlobalValue>(c) && !places_.count(c)) {
            const int at = places_[c] = reserve(bytes_of(c->getType()));
            code_.constants.resize(static_cast<std::size_t>(code_.size));
            put(c, code_.constants.data() + at);
          }
  }

  void read(const llvm::Function& f) {
    if (f.isDeclaration()) throw Unknown();
    read_constants(f);
    for (const llvm::Argument& a : f.args()) code_.parameters.push_back(places_[&a] = reserve(bytes_of(a.getType())));
    if (!f.getReturnType()->isVoidTy()) code_.result = reserve(code_.result_bytes = bytes_of(f.getReturnType()));
    for (const llvm::BasicBlock& b : f)
      for (const llvm::Instruction& i : b)
        if (!i.getType()->isVoidTy()) places_[&i] = reserve(bytes_of(i.getType()));
    std::map<const llvm::BasicBlock*, int> starts;
    for (const llvm::BasicBlock& b : f) {
      starts[&b] = static_cast<int>(code_.steps.size());
      for (const llvm::Instruction& i : b)
        if (!llvm::isa<llvm::PHINode>(i)) read(i);
    }
    for (const auto& [edge, from, to] : jumps_) {
      Edge& e = code_.edges[static_cast<std::size_t>(edge)];
      e.target = starts.at(to);
      int aside = 0;
      for (const llvm::PHINode& p : to->phis()) {
        const Copy c{place(&p), place(p.getIncomingValueForBlock(from)), bytes_of(p.getType())};
        for (const Copy& before : e.copies) e.crossing |= before.to == c.from;
        e.copies.push_back(c);
        aside += c.bytes;
      }
      code_.aside_bytes = std::max(code_.aside_bytes, aside);
    }
    code_.aside = reserve(code_.aside_bytes + 1);
  }

  int add_edge(const llvm::BasicBlock* from, const llvm::BasicBlock* to) {
    code_.edges.emplace_back();
    jumps_.push_back({static_cast<int>(code_.edges.size()) - 1, from, to});
    return jumps_.back().edge;
  }

  Step& add(const llvm::Instruction& i, Run run) {
    if (!run) throw Unknown();
    Step s;
    s.op.run = run;
    if (!i.getType()->isVoidTy()) s.op.out = places_.at(&i), s.op.lanes = lanes_of(i.getType());
    int* const at[] = {&s.op.a, &s.op.b, &s.op.c};
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
    const unsigned n = std::min(3u, call ? call->arg_size() : i.getNumOperands());
    for (unsigned k = 0; k < n; ++k) *at[k] = place(i.getOperand(k));
    code_.steps.push_back(s);
    return code_.steps.back();
  }

  void read(const llvm::Instruction& i) {
    namespace in = interpreted;
    llvm::Type* t = i.getType()->getScalarType();
    if (const auto* o = llvm::dyn_cast<llvm::BinaryOperator>(&i)) {
      add(i, in::binary(o->getOpcode(), t));
    } else if (llvm::isa<llvm::UnaryOperator>(i)) {
      add(i, in::negate(t));
    } else if (const auto* comparison = llvm::dyn_cast<llvm::CmpInst>(&i)) {
      add(i, in::compare(comparison->getPredicate(), comparison->getOperand(0)->getType()->getScalarType()));
    } else if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&i)) {
      read_cast(*cast);
    } else if (llvm::isa<llvm::SelectInst>(i)) {
      const llvm::Value* condition = i.getOperand(0);
      const bool whole = !condition->getType()->isVectorTy();
      const int bytes = bytes_of(i.getType());
      Step& s = add(i, whole ? in::select_whole : in::select(bytes / lanes_of(i.getType())));
      s.op.number = bytes;
    } else if (llvm::isa<llvm::FreezeInst>(i)) {
      add(i, in::copy).op.number = bytes_of(i.getType());
    } else if (llvm::isa<llvm::AllocaInst>(i)) {
      read_alloca(llvm::cast<llvm::AllocaInst>(i));
    } else if (llvm::isa<llvm::LoadInst>(i)) {
      if (t->isIntegerTy(1)) throw Unknown();
      add(i, in::load).op.number = bytes_of(i.getType());
    } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&i)) {
      if (store->getValueOperand()->getType()->getScalarType()->isIntegerTy(1)) throw Unknown();
      add(i, in::store).op.number = bytes_of(store->getValueOperand()->getType());
    } else if (const auto* g = llvm::dyn_cast<llvm::GetElementPtrInst>(&i)) {
      read_address(*g);
    } else if (llvm::isa<llvm::ExtractElementInst>(i) || llvm::isa<llvm::InsertElementInst>(i)) {
      const bool out = llvm::isa<llvm::ExtractElementInst>(i);
      const auto* at = llvm::dyn_cast<llvm::ConstantInt>(i.getOperand(out ? 1 : 2));
      if (!at) throw Unknown();
      const int each = bytes_of(t);
      Step& s = add(i, out ? in::extract : in::insert);
      s.op.c = static_cast<int>(at->getZExtValue()) * each;
      s.op.number = each;
      s.op.lanes = bytes_of(i.getType());
    } else if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&i)) {
      const int each = bytes_of(t), first = lanes_of(shuffle->getOperand(0)->getType());
      std::vector<int> lanes;
      for (int l = 0; l < lanes_of(i.getType()); ++l) {
        const int from = std::max(shuffle->getMaskValue(static_cast<unsigned>(l)), 0);
        lanes.push_back(from < first ? place(shuffle->getOperand(0)) + from * each : place(shuffle->getOperand(1)) + (from - first) * each);
      }
      add(i, in::shuffle(each)).op.table = keep(std::move(lanes));
    } else if (const auto* b = llvm::dyn_cast<llvm::BranchInst>(&i)) {
      Step s;
      s.kind = b->isConditional() ? Step::Kind::branch : Step::Kind::jump;
      if (b->isConditional()) s.op.a = place(b->getCondition()), s.edges[1] = add_edge(b->getParent(), b->getSuccessor(1));
      s.edges[0] = add_edge(b->getParent(), b->getSuccessor(0));
      code_.steps.push_back(s);
    } else if (const auto* r = llvm::dyn_cast<llvm::ReturnInst>(&i)) {
      if (const llvm::Value* v = r->getReturnValue()) {
        Step result;
        result.op.run = in::copy, result.op.out = code_.result, result.op.a = place(v), result.op.number = code_.result_bytes;
        code_.steps.push_back(result);
      }
      Step s;
      s.kind = Step::Kind::done;
      code_.steps.push_back(s);
    } else if (llvm::isa<llvm::FenceInst>(i)) {
    } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&i)) {
      read_call(*call);
    } else {
      throw Unknown();
    }
  }

  void read_cast(const llvm::CastInst& c) {
    namespace in = interpreted;
    if (c.getOpcode() == llvm::Instruction::BitCast) {
      const int from = bytes_of(c.getSrcTy()), to = bytes_of(c.getDestTy());
      if (c.getSrcTy()->getScalarType()->isIntegerTy(1)) {
        // A mask as a number.
        if (c.getDestTy()->isVectorTy() || to > 8) throw Unknown();
        Step& s = add(c, in::pack_bits);
        s.op.lanes = from, s.op.number = to;
        return;
      }
      if (from != to || c.getDestTy()->getScalarType()->isIntegerTy(1)) throw Unknown();
      add(c, in::copy).op.number = to;
      return;
    }
    add(c, in::cast(c.getOpcode(), c.getSrcTy()->getScalarType(), c.getDestTy()->getScalarType()));
  }

  void read_alloca(const llvm::AllocaInst& a) {
    const auto* count = llvm::dyn_cast<llvm::ConstantInt>(a.getArraySize());
    if (!count || a.getParent() != &a.getFunction()->getEntryBlock() || a.getAlign().value() > kAlign) throw Unknown();
    const std::uint64_t bytes = layout_.getTypeAllocSize(a.getAllocatedType()).getFixedValue() * count->getZExtValue();
    if (bytes > 1 << 20) throw Unknown();
    Step s;
    s.op.run = interpreted::address_of, s.op.out = places_.at(&a), s.op.number = reserve(static_cast<int>(bytes));
    code_.steps.push_back(s);
  }

  void read_address(const llvm::GetElementPtrInst& g) {
    llvm::APInt constant(64, 0);
    if (!g.getType()->isVectorTy() && g.accumulateConstantOffset(layout_, constant)) {
      add(g, interpreted::offset).op.number = constant.getSExtValue();
      return;
    }
    if (g.getNumIndices() != 1) throw Unknown();
    const llvm::Value* index = g.getOperand(1);
    const int bits = static_cast<int>(index->getType()->getScalarSizeInBits());
    if (bits != 32 && bits != 64) throw Unknown();
    Step& s = add(g, interpreted::address(bits, g.getPointerOperand()->getType()->isVectorTy(), index->getType()->isVectorTy()));
    s.op.number = static_cast<std::int64_t>(layout_.getTypeAllocSize(g.getSourceElementType()).getFixedValue());
  }

  void read_call(const llvm::CallInst& c) {
    namespace in = interpreted;
    const llvm::Function* f = c.getCalledFunction();
    if (!f) throw Unknown();
    const int each = c.getType()->isVoidTy() ? 0 : bytes_of(c.getType()->getScalarType());
    if (f->isIntrinsic()) {
      llvm::Type* t = c.getType()->getScalarType();
      switch (f->getIntrinsicID()) {
        case llvm::Intrinsic::arithmetic_fence: add(c, in::copy).op.number = bytes_of(c.getType()); return;
        case llvm::Intrinsic::prefetch: return;
        case llvm::Intrinsic::masked_load:
        case llvm::Intrinsic::masked_gather: {
          if (t->isIntegerTy(1)) throw Unknown();
          const bool one = f->getIntrinsicID() == llvm::Intrinsic::masked_load;
          Step& s = add(c, in::masked_load(one, each));
          s.op.b = place(c.getArgOperand(2)), s.op.c = place(c.getArgOperand(3));
          return;
        }
        case llvm::Intrinsic::masked_store:
        case llvm::Intrinsic::masked_scatter: {
          llvm::Type* type = c.getArgOperand(0)->getType();
          if (type->getScalarType()->isIntegerTy(1)) throw Unknown();
          Step& s = add(c, in::masked_store(f->getIntrinsicID() == llvm::Intrinsic::masked_store, bytes_of(type->getScalarType())));
          s.op.c = place(c.getArgOperand(3)), s.op.lanes = lanes_of(type);
          return;
        }
        default: add(c, in::intrinsic(c, t)); return;
      }
    }
    if (f->isDeclaration()) {
      std::vector<int> arguments;
      for (const llvm::Value* v : c.args()) arguments.push_back(place(v));
      add(c, in::library(f->getName())).op.table = keep(std::move(arguments));
      return;
    }
    const auto [known, is_new] = functions_.try_emplace(f, static_cast<int>(code_.callees.size()));
    if (is_new) Reader(*f, *code_.callees.emplace_back(std::make_unique<Code>()));
    Step s;
    s.kind = Step::Kind::call;
    s.callee = known->second;
    const Code& callee = *code_.callees[static_cast<std::size_t>(s.callee)];
    if (each > 0) s.op.out = places_.at(&c);
    code_.edges.emplace_back();
    s.edges[0] = static_cast<int>(code_.edges.size()) - 1;
    for (unsigned k = 0; k < c.arg_size(); ++k)
      code_.edges.back().copies.push_back({callee.parameters.at(k), place(c.getArgOperand(k)), bytes_of(c.getArgOperand(k)->getType())});
    code_.steps.push_back(s);
  }
  const int* keep(std::vector<int> places) {
    code_.tables.push_back(std::move(places));
    return code_.tables.back().data();
  }

  struct Jump {
    int edge;
    const llvm::BasicBlock *from, *to;
  };
  const llvm::DataLayout& layout_;
  Code& code_;
  std::unordered_map<const llvm::Value*, int> places_;
  std::map<const llvm::Function*, int> functions_;
  std::vector<Jump> jumps_;
};

class Interpreted final : public InterpretedCode {
 public:
  explicit Interpreted(const llvm::Function& f) { Reader(f, code_); }
  void run(void* const* args, std::int64_t begin, std::int64_t end) const override {
    const Frame frame(code_);
    std::memcpy(frame.memory + code_.parameters.at(0), &args, sizeof args);
    std::memcpy(frame.memory + code_.parameters.at(1), &begin, sizeof begin);
    std::memcpy(frame.memory + code_.parameters.at(2), &end, sizeof end);
    code_.run(frame.memory);
  }

 private:
  Code code_;
};

}  // namespace

std::unique_ptr<InterpretedCode> InterpretedCode::of(const llvm::Function& f) {
  try {
    return std::make_unique<Interpreted>(f);
  } catch (const Unknown&) {
    return nullptr;
  }
}

}  // namespace weft::detail
