// What waits on one thread with a deadline: an intrusive list and one coarse timer that runs only while something
// waits, so that a wait which usually ends in microseconds costs a few pointers. Only that thread touches it.
#pragma once
#include "millrace/base/time.h"
#include "millrace/env/reactor.h"

namespace millrace::broker {

class Deadlines;

class Deadline {
 public:
  virtual ~Deadline();
  Deadline() = default;
  Deadline(Deadline const&) = delete;
  Deadline& operator=(Deadline const&) = delete;

 protected:
  // Not in the list any more.
  virtual void on_deadline() = 0;

 private:
  friend class Deadlines;
  Deadlines* list_ = nullptr;
  Deadline* previous_ = nullptr;
  Deadline* next_ = nullptr;
  Mono at_;
};

class Deadlines {
 public:
  static constexpr Duration kTick = 20ms;

  explicit Deadlines(env::Reactor& reactor) : reactor_(reactor) {}
  ~Deadlines();
  Deadlines(Deadlines const&) = delete;
  Deadlines& operator=(Deadlines const&) = delete;

  void add(Deadline& deadline, Mono at);
  static void remove(Deadline& deadline);  // nothing happens if it is in no list

 private:
  void arm();
  void tick();

  env::Reactor& reactor_;
  Deadline* first_ = nullptr;
  bool is_armed_ = false;
};

}  // namespace millrace::broker
