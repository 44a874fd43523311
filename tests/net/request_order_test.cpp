// Requests of a connection start and are answered in the order of DESIGN: told as stories.
// A story is a line of events: `P` a Produce comes, `F` another request comes, `aN` request N is with its partitions,
// `rN` N is answered, `nN` N is answered by nothing, `cN` N closes, `tN:MS` N is answered and throttles, `+MS` time
// passes. The outcome lists what happened after each event: `>N` started, `<N` its answer left, `x` closing.
#include <gtest/gtest.h>

#include "../../src/net/request_order.h"
#include "millrace/base/random.h"

namespace millrace::net {
namespace {

SharedBytes text_bytes(std::string const& text) { return SharedBytes::copy_of(as_bytes(text)); }

class Teller {
 public:
  std::string tell(std::string_view events) {
    std::string out;
    while (!events.empty()) {
      auto const end = std::min(events.find(' '), events.size());
      auto const event = std::string(events.substr(0, end));
      events.remove_prefix(std::min(end + 1, events.size()));
      apply(event);
      out += event + run() + " ";
    }
    out.pop_back();
    return out;
  }

 private:
  void apply(std::string const& event) {
    auto const argument = event.size() > 1 ? std::strtoull(event.c_str() + 1, nullptr, 10) : 0;
    auto answer = [&](RequestOrder::Answered how, Duration throttle = {}) {
      env::Response response;
      response.chunks.push_back(text_bytes(std::to_string(argument)));
      order_.on_answered(argument, {how, std::move(response), {}}, throttle, now_);
    };
    switch (event[0]) {
      case 'P':
      case 'F': order_.on_frame(text_bytes("frame"), now_, event[0] == 'P'); break;
      case 'a': order_.on_handed_over(argument); break;
      case 'r': answer(RequestOrder::Answered::with_response); break;
      case 'n': answer(RequestOrder::Answered::with_nothing); break;
      case 'c': answer(RequestOrder::Answered::by_closing); break;
      case 't': answer(RequestOrder::Answered::with_response, from_ms(std::atoi(event.c_str() + event.find(':') + 1))); break;
      case '+': now_ = now_ + from_ms(static_cast<int64_t>(argument)); break;
      default: FAIL() << event;
    }
  }
  std::string run() {
    std::string out;
    bool is_closed = false;
    while (!is_closed) {
      order_.check_invariants();
      if (auto leaving = order_.take_leaving()) {
        is_closed = leaving->how == RequestOrder::Answered::by_closing;
        if (is_closed) out += "x";
        if (leaving->how == RequestOrder::Answered::with_response) {
          out += fmt::format("<{}", as_text(std::get<SharedBytes>(leaving->response.chunks[0]).view()));
        }
      } else if (order_.has_startable(now_)) {
        out += fmt::format(">{}", order_.start_next().number);
      } else {
        break;
      }
    }
    order_.check_invariants();
    return out;
  }

  RequestOrder order_;
  Mono now_{};
};

TEST(RequestOrder, one_at_a_time) {
  EXPECT_EQ(Teller().tell("F F F r0 r1 r2"), "F>0 F F r0<0>1 r1<1>2 r2<2");
}

TEST(RequestOrder, produces_overlap_once_handed_over) {
  EXPECT_EQ(Teller().tell("P P P a0 a1 r1 r0 r2"), "P>0 P P a0>1 a1>2 r1 r0<0<1 r2<2");
}

TEST(RequestOrder, a_produce_waits_for_a_fetch_and_a_fetch_for_produces) {
  EXPECT_EQ(Teller().tell("P F P a0 r0 r1 r2"), "P>0 F P a0 r0<0>1 r1<1>2 r2<2");
}

TEST(RequestOrder, an_answered_produce_counts_as_handed_over) {
  EXPECT_EQ(Teller().tell("P P P a0 r1 r0 r2"), "P>0 P P a0>1 r1>2 r0<0<1 r2<2");
}

TEST(RequestOrder, a_produce_that_is_not_handed_over_holds_back_all) {
  EXPECT_EQ(Teller().tell("P P F r0 r1"), "P>0 P F r0<0>1 r1<1>2");
}

TEST(RequestOrder, nothing_is_an_answer) {
  EXPECT_EQ(Teller().tell("P P F n0 n1 r2"), "P>0 P F n0>1 n1>2 r2<2");
}

TEST(RequestOrder, closing_waits_for_earlier_answers_and_starts_nothing_later) {
  EXPECT_EQ(Teller().tell("P P P a0 c1 r0"), "P>0 P P a0>1 c1 r0<0x");
  EXPECT_EQ(Teller().tell("P F c0"), "P>0 F c0x");
}

TEST(RequestOrder, a_throttled_client_gets_its_answer_first_and_then_nothing_starts) {
  EXPECT_EQ(Teller().tell("F F t0:50 F +49 +1 r1"), "F>0 F t0:50<0 F +49 +1>1 r1<1>2");
  // The longest throttle counts; what runs already is answered meanwhile.
  EXPECT_EQ(Teller().tell("P P P a0 t0:100 t1:10 +10 +90"), "P>0 P P a0>1 t0:100<0 t1:10<1 +10 +90>2");
}

TEST(RequestOrder, any_order_of_events_keeps_the_rules) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    RequestOrder order;
    std::vector<bool> is_produce, is_handed_over, is_answered;
    size_t started = 0, left = 0;
    for (int step = 0; step < 300; ++step) {
      auto const choice = random.below(4);
      if (choice == 0 && !order.is_full()) {
        is_produce.push_back(random.chance(0.8));
        is_handed_over.push_back(false);
        is_answered.push_back(false);
        order.on_frame(text_bytes("x"), {}, is_produce.back());
      } else if (left < started) {
        auto const which = left + random.below(started - left);
        if (choice == 1) {
          is_handed_over[which] = true;
          order.on_handed_over(which);
        } else if (!is_answered[which]) {
          is_answered[which] = true;
          order.on_answered(which, {RequestOrder::Answered::with_response, {}, {}}, {}, {});
        }
      }
      while (order.take_leaving()) {
        ASSERT_TRUE(is_answered[left]);
        ++left;
      }
      ASSERT_TRUE(left == is_answered.size() || !is_answered[left]);
      while (order.has_startable({})) {
        for (auto i = left; i < started; ++i) {
          ASSERT_TRUE(is_produce[i] && is_produce[started]);
          ASSERT_TRUE(is_handed_over[i] || is_answered[i]);
        }
        ASSERT_EQ(order.start_next().number, started);
        ++started;
      }
      ASSERT_TRUE(started > left || left == is_produce.size());  // progress: something always runs
      order.check_invariants();
    }
  }
}

}  // namespace
}  // namespace millrace::net
