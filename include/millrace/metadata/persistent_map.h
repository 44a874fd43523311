// An immutable sorted map that shares structure with the maps it was made from: a treap whose priorities are hashes
// of the keys, so that equal contents have equal shape. Copying is one reference count; with() and without() copy
// one path of O(log n) nodes. Any thread may read any copy.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::metadata {

// Mixed so that consecutive keys give unrelated priorities.
inline uint64_t mix_priority(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

template <class K>
uint32_t key_priority(K const& key) {
  return static_cast<uint32_t>(mix_priority(std::hash<K>{}(key)));
}

template <class K, class V>
class PersistentMap {
  struct Node;
  using Link = std::shared_ptr<Node const>;

 public:
  PersistentMap() = default;
  PersistentMap(PersistentMap const&) = default;
  PersistentMap(PersistentMap&&) noexcept = default;
  PersistentMap& operator=(PersistentMap const&) = default;
  PersistentMap& operator=(PersistentMap&&) noexcept = default;

  bool empty() const { return root_ == nullptr; }
  size_t size() const { return root_ ? root_->count : 0; }
  // Two maps that are one tree: equal without looking. (Equal maps may be different trees.)
  bool is_same_tree(PersistentMap const& other) const { return root_ == other.root_; }

  // Null when absent; lives as long as any map that holds the entry. Key may be of any type comparable with K.
  template <class Q>
  V const* find(Q const& key) const {
    Node const* node = root_.get();
    while (node != nullptr) {
      if (key < node->key) node = node->left.get();
      else if (node->key < key) node = node->right.get();
      else return &node->value;
    }
    return nullptr;
  }
  template <class Q>
  bool contains(Q const& key) const { return find(key) != nullptr; }

  // In key order. `visit(key, value)`; when it returns bool, false ends the walk. Returns false when ended early.
  template <class F>
  bool for_each(F&& visit) const { return walk(root_.get(), visit); }
  // As for_each, over the keys that are not less than `from`.
  template <class Q, class F>
  bool for_each_from(Q const& from, F&& visit) const { return walk_from(root_.get(), from, visit); }

  PersistentMap with(K key, V value) const {
    auto const priority = key_priority(key);
    return PersistentMap(insert(root_, std::move(key), std::move(value), priority));
  }
  PersistentMap without(K const& key) const { return contains(key) ? PersistentMap(erase(root_, key)) : *this; }

  void set(K key, V value) { *this = with(std::move(key), std::move(value)); }
  void remove(K const& key) { *this = without(key); }

  // Order, heap property and counts; for tests and check_invariants().
  bool is_well_formed() const { return check(root_.get(), nullptr, nullptr); }

 private:
  struct Node {
    Node(K k, V v, uint32_t p, Link l, Link r)
        : key(std::move(k)), value(std::move(v)), left(std::move(l)), right(std::move(r)), priority(p),
          count(1 + (left ? left->count : 0) + (right ? right->count : 0)) {}
    K key;
    V value;
    Link left, right;
    uint32_t priority;
    uint32_t count;
  };

  explicit PersistentMap(Link root) : root_(std::move(root)) {}

  static Link make(Node const& of, Link left, Link right) {
    return std::make_shared<Node>(of.key, of.value, of.priority, std::move(left), std::move(right));
  }
  // Greater priority is nearer to the root; the smaller key breaks a tie.
  static bool is_above(uint32_t priority, K const& key, Node const& node) {
    return priority != node.priority ? priority > node.priority : key < node.key;
  }

  static std::pair<Link, Link> split(Link const& node, K const& key) {  // < key and > key; key itself is not there
    if (!node) return {};
    if (node->key < key) {
      auto [less, greater] = split(node->right, key);
      return {make(*node, node->left, std::move(less)), std::move(greater)};
    }
    auto [less, greater] = split(node->left, key);
    return {std::move(less), make(*node, std::move(greater), node->right)};
  }

  static Link insert(Link const& node, K&& key, V&& value, uint32_t priority) {
    if (!node) return std::make_shared<Node>(std::move(key), std::move(value), priority, nullptr, nullptr);
    if (key < node->key || node->key < key) {
      if (is_above(priority, key, *node)) {
        auto [less, greater] = split(node, key);
        return std::make_shared<Node>(std::move(key), std::move(value), priority, std::move(less), std::move(greater));
      }
      if (key < node->key) return make(*node, insert(node->left, std::move(key), std::move(value), priority), node->right);
      return make(*node, node->left, insert(node->right, std::move(key), std::move(value), priority));
    }
    return std::make_shared<Node>(std::move(key), std::move(value), node->priority, node->left, node->right);
  }

  static Link join(Link const& left, Link const& right) {
    if (!left) return right;
    if (!right) return left;
    if (is_above(left->priority, left->key, *right)) return make(*left, left->left, join(left->right, right));
    return make(*right, join(left, right->left), right->right);
  }

  static Link erase(Link const& node, K const& key) {
    if (key < node->key) return make(*node, erase(node->left, key), node->right);
    if (node->key < key) return make(*node, node->left, erase(node->right, key));
    return join(node->left, node->right);
  }

  template <class F>
  static bool visit_one(Node const& node, F& visit) {
    if constexpr (std::is_same_v<decltype(visit(node.key, node.value)), bool>) {
      return visit(node.key, node.value);
    } else {
      visit(node.key, node.value);
      return true;
    }
  }
  template <class F>
  static bool walk(Node const* node, F& visit) {
    if (node == nullptr) return true;
    return walk(node->left.get(), visit) && visit_one(*node, visit) && walk(node->right.get(), visit);
  }
  template <class Q, class F>
  static bool walk_from(Node const* node, Q const& from, F& visit) {
    if (node == nullptr) return true;
    if (node->key < from) return walk_from(node->right.get(), from, visit);
    return walk_from(node->left.get(), from, visit) && visit_one(*node, visit) && walk(node->right.get(), visit);
  }

  static bool check(Node const* node, K const* above, K const* below) {
    if (node == nullptr) return true;
    if (above != nullptr && !(*above < node->key)) return false;
    if (below != nullptr && !(node->key < *below)) return false;
    uint32_t count = 1;
    for (auto const* child : {node->left.get(), node->right.get()}) {
      if (child == nullptr) continue;
      count += child->count;
      if (is_above(child->priority, child->key, *node)) return false;
    }
    return count == node->count && check(node->left.get(), above, &node->key) && check(node->right.get(), &node->key, below);
  }

  Link root_;
};

}  // namespace millrace::metadata
