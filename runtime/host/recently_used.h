// An LRU cache: objects by key, the most recently used one first. The caller holds a
// lock.
#pragma once
#include <cstddef>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

#include "weft/core/base/ref.h"

namespace weft::detail {

template <class T>
class RecentlyUsed {
 public:
  /// The object with this hash that satisfies the predicate; it becomes the most recently used. Null if there is none.
  template <class F>
  Ref<T> find(std::size_t hash, F&& wanted) {
    const auto [begin, end] = index_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (wanted(*it->second->object)) {
        list_.splice(list_.begin(), list_, it->second);
        return it->second->object;
      }
    return {};
  }
  void add(std::size_t hash, Ref<T> object) {
    list_.push_front({hash, std::move(object)});
    try {
      index_.emplace(hash, list_.begin());
    } catch (...) {
      list_.pop_front();
      throw;
    }
  }
  void remove(const Ref<T>& object) {
    for (auto it = list_.begin(); it != list_.end(); ++it)
      if (it->object == object) {
        take(it);
        return;
      }
  }
  /// If there are more than `most` objects, removes the least recently used one that may be removed; else null.
  template <class F>
  Ref<T> take_oldest(std::size_t most, F&& may_go) {
    if (list_.size() <= most) return {};
    for (auto it = list_.end(); it != list_.begin();)
      if (--it; may_go(*it->object)) return take(it);
    return {};
  }
  std::size_t size() const { return list_.size(); }
  /// Calls f for each object, in unspecified order.
  template <class F>
  void each(F&& f) const {
    for (const Item& item : list_) f(*item.object);
  }

 private:
  struct Item {
    std::size_t hash;
    Ref<T> object;
  };
  using Place = typename std::list<Item>::iterator;
  Ref<T> take(Place at) {
    const auto [begin, end] = index_.equal_range(at->hash);
    for (auto it = begin; it != end; ++it)
      if (it->second == at) {
        index_.erase(it);
        break;
      }
    Ref<T> object = std::move(at->object);
    list_.erase(at);
    return object;
  }

  std::list<Item> list_;
  std::unordered_multimap<std::size_t, Place> index_;
};

}  // namespace weft::detail
