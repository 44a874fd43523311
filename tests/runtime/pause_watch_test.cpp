// A process that did not run, as stories: events in, effects and state out, compared whole. Proves that the first event
// after half a session without a tick begins the doubt, that nothing asked before that ends it, and that it takes the
// quorum, the controller and the image together to end it.
#include "millrace/runtime/pause_watch.h"

#include <gtest/gtest.h>

#include <sstream>

namespace millrace::runtime {
namespace {

using namespace pauses;

// Session of 8 s. One line an event; what it caused stands below it after "  ", and the state after "=".
class Story {
 public:
  std::string tell(std::string const& events) {
    std::stringstream in(events);
    std::string out;
    for (std::string line; std::getline(in, line);) {
      std::stringstream words(line);
      std::string word, flag;
      int64_t a = -1, b = -1;
      words >> word;
      Event event;
      if (word == "at") {  // MS
        words >> a;
        now_ = {from_ms(a)};
        continue;
      }
      if (word == "start") event = event::Started{};
      if (word == "tick") event = event::Tick{};
      if (word == "quorum") {  // MS-WHEN-ASKED END
        words >> a >> b;
        event = event::QuorumAnswered{{from_ms(a)}, Offset{b}};
      }
      if (word == "alive") {  // MS-WHEN-ASKED
        words >> a;
        event = event::HeartbeatAnswered{{from_ms(a)}};
      }
      if (word == "image") {  // END [serving]
        words >> a >> flag;
        event = event::Published{Offset{a}, flag == "serving"};
      }
      Effects effects;
      watch_.on_event(event, now_, effects);
      watch_.check_invariants();
      standing_.set(watch_.sure_until());
      out += "> " + line + "\n";
      for (auto const& effect : effects) {
        if (auto const* noticed = std::get_if<effect::Noticed>(&effect)) out += fmt::format("  did not run for {}\n", to_ms(noticed->silence));
        else {
          auto const& ended = std::get<effect::Ended>(effect);
          out += fmt::format("  doubt ends after {}{}\n", to_ms(ended.doubt), ended.has_heard ? "" : ", unheard");
        }
      }
      out += "= " + watch_.text() + "\n";
    }
    return out;
  }

  PauseWatch watch_{8s};
  LeaderStanding standing_;
  Mono now_{};
};

bool is_sure(Story const& story, int64_t ms) { return story.standing_.is_sure({from_ms(ms)}); }

TEST(PauseWatch, ticks_keep_it_sure_and_any_thread_sees_that_they_do_not_come) {
  Story story;
  EXPECT_TRUE(is_sure(story, 1'000'000)) << "nothing watches";
  EXPECT_EQ(story.watch_.interval(), 1s);
  EXPECT_EQ(story.tell("image 7 serving\nstart\nat 1000\ntick\nat 4999\ntick"), R"(> image 7 serving
= published 7 serving sure
> start
= published 7 serving sure
> tick
= published 7 serving sure
> tick
= published 7 serving sure
)");
  EXPECT_TRUE(is_sure(story, 8998));
  EXPECT_FALSE(is_sure(story, 8999));
}

TEST(PauseWatch, doubt_ends_with_the_quorum_the_controller_and_the_image) {
  Story story;
  story.tell("image 7 serving\nstart\nat 1000\ntick\nat 31000");
  EXPECT_FALSE(is_sure(story, 31000)) << "before the control loop runs";
  EXPECT_EQ(story.tell("tick\nat 31100\nquorum 31001 9\nat 31200\nalive 31002\nat 31300\nimage 8 serving"), R"(> tick
  did not run for 30000
= published 7 serving in doubt since 31000
> quorum 31001 9
= published 7 serving in doubt since 31000 committed 9
> alive 31002
= published 7 serving in doubt since 31000 committed 9 alive
> image 8 serving
= published 8 serving in doubt since 31000 committed 9 alive
)");
  EXPECT_FALSE(is_sure(story, 31300)) << "ticks alone do not end it";
  EXPECT_EQ(story.tell("at 31400\nimage 9 serving"), R"(> image 9 serving
  doubt ends after 400
= published 9 serving sure
)");
  EXPECT_TRUE(is_sure(story, 31400));
  EXPECT_FALSE(is_sure(story, 35000)) << "a tick is due";
}

TEST(PauseWatch, what_was_asked_before_ends_nothing) {
  Story story;
  story.tell("image 7 serving\nstart\nat 1000\ntick");
  EXPECT_EQ(story.tell("at 31000\nquorum 900 7\nalive 900\nquorum 30999 7\nalive 30999"), R"(> quorum 900 7
  did not run for 30000
= published 7 serving in doubt since 31000
> alive 900
= published 7 serving in doubt since 31000
> quorum 30999 7
= published 7 serving in doubt since 31000
> alive 30999
= published 7 serving in doubt since 31000
)");
  EXPECT_EQ(story.tell("quorum 31000 7\nalive 31000"), R"(> quorum 31000 7
= published 7 serving in doubt since 31000 committed 7
> alive 31000
  doubt ends after 0
= published 7 serving sure
)");
}

TEST(PauseWatch, who_is_fenced_stays_in_doubt) {
  Story story;
  story.tell("image 7 serving\nstart\nat 31000\ntick\nquorum 31000 9\nalive 31000");
  EXPECT_EQ(story.tell("image 9\nimage 10\nimage 11 serving"), R"(> image 9
= published 9 in doubt since 31000 committed 9 alive
> image 10
= published 10 in doubt since 31000 committed 9 alive
> image 11 serving
  doubt ends after 0
= published 11 serving sure
)");
}

TEST(PauseWatch, a_second_pause_begins_the_doubt_anew) {
  Story story;
  story.tell("image 7 serving\nstart\nat 31000\ntick\nquorum 31000 9\nalive 31000\nat 32000\ntick");
  EXPECT_EQ(story.tell("at 36000\nimage 9 serving\nat 36001\nalive 31000\nquorum 36000 9\nalive 36000"), R"(> image 9 serving
  did not run for 4000
= published 9 serving in doubt since 36000
> alive 31000
= published 9 serving in doubt since 36000
> quorum 36000 9
= published 9 serving in doubt since 36000 committed 9
> alive 36000
  doubt ends after 1
= published 9 serving sure
)");
}

TEST(PauseWatch, who_hears_of_nobody_for_a_session_goes_on) {
  Story story;
  story.tell("image 7 serving\nstart\nat 31000\ntick\nquorum 31000 9\nat 34000\ntick\nat 37000\ntick\nat 38999\ntick");
  EXPECT_FALSE(is_sure(story, 38999));
  EXPECT_EQ(story.tell("at 39000\ntick"), R"(> tick
  doubt ends after 8000, unheard
= published 7 serving sure
)");
  EXPECT_TRUE(is_sure(story, 39000));
}

}  // namespace
}  // namespace millrace::runtime
