// Task: a move-only `void()` that runs at most once. Destroying one that never ran releases what it holds and does
// nothing else; that is how a stopped or crashed node drops its work.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace millrace {

template <class Signature>
class Callback;

// A move-only function, called at most once through an rvalue: std::move(callback)(arguments...).
template <class... Args>
class Callback<void(Args...)> {
 public:
  Callback() = default;
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Callback> && std::is_invocable_v<std::decay_t<F>&, Args...>)
  Callback(F&& f) : body_(std::make_unique<Body<std::decay_t<F>>>(std::forward<F>(f))) {}  // NOLINT
  Callback(Callback&&) noexcept = default;
  Callback& operator=(Callback&&) noexcept = default;

  explicit operator bool() const { return body_ != nullptr; }
  void operator()(Args... args) && {
    auto body = std::move(body_);
    body->call(std::forward<Args>(args)...);
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual void call(Args... args) = 0;
  };
  template <class F>
  struct Body final : Base {
    explicit Body(F&& f) : function(std::move(f)) {}
    explicit Body(F const& f) : function(f) {}
    void call(Args... args) override { function(std::forward<Args>(args)...); }
    F function;
  };
  std::unique_ptr<Base> body_;
};

using Task = Callback<void()>;

}  // namespace millrace
