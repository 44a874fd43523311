// Frames come out of any split of the stream, unchanged, each in memory of its own; bad lengths are refused before
// anything is allocated; memory follows what was received, not what was announced, up to a limit; no buffer is held
// between frames.
#include <gtest/gtest.h>

#include "../../src/net/frame_reader.h"
#include "millrace/base/random.h"
#include "millrace/env/network.h"

namespace millrace::net {
namespace {

constexpr int64_t kFrameBytesMax = 100 << 20;

std::string framed(std::string const& body) {
  std::string out(4, 0);
  for (size_t i = 0; i < 4; ++i) out[i] = static_cast<char>(body.size() >> (8 * (3 - i)));
  return out + body;
}

struct Fixture {
  std::shared_ptr<RequestMemory> memory = std::make_shared<RequestMemory>(int64_t{64} << 20);
  std::shared_ptr<BufferPool> pool = BufferPool::make(memory);
  FrameReader reader{pool};

  // Feeds at most `count` bytes of `stream`; returns how many went in.
  size_t feed(std::string_view stream, size_t count) {
    auto const room = reader.room({});
    count = std::min({count, room.size(), stream.size()});
    std::ranges::copy(as_bytes(stream.substr(0, count)), room.begin());
    reader.on_read(count);
    return count;
  }
};

TEST(FrameReader, any_split_gives_the_same_frames) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    Fixture fixture;
    std::vector<std::string> bodies;
    std::string stream;
    for (int i = 0; i < 40; ++i) {
      auto const spread = random.chance(0.05) ? 5'000'000 : random.chance(0.2) ? 200'000 : 300;
      std::string body(random.below(static_cast<uint64_t>(spread)), 0);
      for (size_t j = 0; j < body.size(); j += 1 + j / 64) body[j] = static_cast<char>(random.next());
      stream += framed(body);
      bodies.push_back(std::move(body));
    }
    std::vector<SharedBytes> frames;
    std::string_view rest = stream;
    auto const piece_max = random.chance(0.3) ? 1 + random.below(20) : 1 + random.below(300'000);
    size_t steps = 0;
    while (!rest.empty()) {
      // Long runs of tiny pieces only around the borders of frames.
      auto const count = steps++ % 1000 < 500 ? 1 + random.below(piece_max) : 1 + random.below(100'000);
      auto const taken = fixture.feed(rest, count);
      ASSERT_GT(taken, 0u);
      rest.remove_prefix(taken);
      while (true) {
        auto frame = fixture.reader.next_frame(kFrameBytesMax);
        ASSERT_TRUE(frame.ok());
        if (!*frame) break;
        // Written in place, as Produce does: no other frame may see it.
        if (!(*frame)->empty()) (*frame)->mutable_view()[0] ^= std::byte{0xff};
        frames.push_back(**frame);
      }
      auto const low_water = fixture.reader.low_water();
      ASSERT_GE(low_water, 1u);
      ASSERT_LE(low_water, std::max<size_t>(rest.size(), 1));
    }
    ASSERT_EQ(frames.size(), bodies.size());
    for (size_t i = 0; i < frames.size(); ++i) {
      if (!bodies[i].empty()) bodies[i][0] = static_cast<char>(bodies[i][0] ^ 0xff);
      ASSERT_TRUE(as_text(frames[i].view()) == bodies[i]) << i;
    }
    EXPECT_FALSE(fixture.reader.is_inside_frame());
    frames.clear();
    EXPECT_EQ(fixture.memory->used(), 0);
  }
}

TEST(FrameReader, refuses_lengths_out_of_range) {
  for (std::string const& length : {std::string("\xff\xff\xff\xff", 4), std::string("\x7f\xff\xff\xff", 4),
                                    std::string("\x80\0\0\0", 4)}) {
    Fixture fixture;
    fixture.feed(length, 4);
    EXPECT_FALSE(fixture.reader.next_frame(kFrameBytesMax).ok());
  }
  Fixture fixture;
  fixture.feed(std::string("\0\0\0\x0b", 4), 4);
  EXPECT_FALSE(fixture.reader.next_frame(10).ok());
  EXPECT_TRUE(fixture.reader.next_frame(11).ok());
}

// As when a connection has too many requests to be asked for another frame.
TEST(FrameReader, a_large_frame_stays_where_it_began_whenever_the_one_before_was_taken) {
  Fixture fixture;
  auto const bytes = framed(std::string(1'200'000, 'x'));
  for (int i = 0; i < 3; ++i) {
    std::string_view rest = bytes;
    std::byte const* next = nullptr;
    while (!rest.empty()) {
      auto const room = fixture.reader.room({});
      if (i > 0 && next != nullptr) {
        ASSERT_EQ(room.data(), next);  // the first is larger than expected
      }
      auto const taken = fixture.feed(rest, 300'000);
      next = room.data() + taken;
      rest.remove_prefix(taken);
      if (!rest.empty()) {
        ASSERT_FALSE(*fixture.reader.next_frame(kFrameBytesMax));
      }
    }
    ASSERT_TRUE(*fixture.reader.next_frame(kFrameBytesMax));
  }
}

TEST(FrameReader, an_announced_length_alone_costs_little) {
  Fixture fixture;
  fixture.feed(std::string("\x05\0\0\0", 4) + "x", 5);  // 80 MiB are announced
  ASSERT_TRUE(fixture.reader.next_frame(kFrameBytesMax).ok());
  EXPECT_GT(fixture.reader.room({}).size(), 0u);
  EXPECT_LE(fixture.memory->used(), int64_t{2} << 20);
  EXPECT_EQ(fixture.reader.low_water(), env::kReadLowWaterMax);
}

// Reads up to `count` bytes of a large frame into `reader`, as far as it gets room; the rest of the frame never comes.
size_t feed_part(FrameReader& reader, size_t count, FrameReader::Standing standing) {
  std::string bytes(count, 'x');
  bytes.replace(0, 4, std::string("\x05\0\0\0", 4));  // 80 MiB
  size_t done = 0;
  while (done < count) {
    auto const room = reader.room(standing);
    if (room.empty()) break;
    auto const piece = std::min(room.size(), count - done);
    std::ranges::copy(as_bytes(std::string_view(bytes).substr(done, piece)), room.begin());
    reader.on_read(piece);
    EXPECT_TRUE(reader.next_frame(kFrameBytesMax).ok());
    done += piece;
  }
  return done;
}

TEST(FrameReader, memory_follows_what_came_up_to_the_limit) {
  Fixture fixture;
  EXPECT_EQ(feed_part(fixture.reader, 10'000'000, {}), 10'000'000u);
  EXPECT_LE(fixture.memory->used(), 20'000'000);
  EXPECT_TRUE(fixture.reader.is_inside_large_frame());
  FrameReader other(fixture.pool);
  EXPECT_LT(feed_part(other, 60'000'000, {}), 48'000'000u);
  EXPECT_LE(fixture.memory->used(), fixture.memory->bytes_max());
}

TEST(FrameReader, beyond_the_limit_small_frames_come_through_and_one_large_one_at_a_time) {
  auto memory = std::make_shared<RequestMemory>(1 << 20);
  auto pool = BufferPool::make(memory);
  ASSERT_TRUE(memory->take(1 << 20, RequestMemory::Claim::within_limit));
  FrameReader small(pool);
  EXPECT_TRUE(small.room({.holds_requests = true}).empty());
  auto const room = small.room({.holds_requests = false});
  ASSERT_FALSE(room.empty());
  auto const bytes = framed("hello");
  std::ranges::copy(as_bytes(bytes), room.begin());
  small.on_read(bytes.size());
  auto frame = *small.next_frame(kFrameBytesMax);
  ASSERT_FALSE(*small.next_frame(kFrameBytesMax));
  EXPECT_EQ(memory->used(), (1 << 20) + static_cast<int64_t>(BufferPool::kBytesMin));  // the frame still holds the buffer
  frame.reset();
  EXPECT_EQ(memory->used(), 1 << 20);

  FrameReader first(pool);
  FrameReader second(pool);
  EXPECT_EQ(feed_part(first, 1'000'000, {}), BufferPool::kBytesMin);
  EXPECT_EQ(feed_part(second, 1'000'000, {}), BufferPool::kBytesMin);
  EXPECT_EQ(first.room({.is_first = true}).size(), (size_t{80} << 20) + 4 - BufferPool::kBytesMin);
  EXPECT_TRUE(second.room({.is_first = true}).empty());
  first = FrameReader(pool);
  EXPECT_FALSE(second.room({.is_first = true}).empty());
}

}  // namespace
}  // namespace millrace::net
