// What is sent to a peer: owned bytes, and ranges of files that leave by sendfile where the environment can.
#pragma once
#include <memory>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/task.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/env/disk.h"

namespace millrace::env {

// Keeps a descriptor open for a region, from the read until the peer has acknowledged the bytes. Its owner
// (storage) revokes it before a truncation changes the bytes: every connection that registered is reset first.
class RegionLease {
 public:
  virtual ~RegionLease() = default;
  virtual File& file() = 0;
  // A connection that sends the region registers how to reset itself (SO_LINGER 0, callable from any thread).
  // Returns false when the lease has been revoked already: then nothing of it may be sent.
  virtual bool register_sender(void const* sender, Callback<void()> reset) = 0;
  virtual void unregister_sender(void const* sender) = 0;
};

struct FileRegion {
  std::shared_ptr<RegionLease> lease;
  Position position;
  int64_t bytes{};
};

using Chunk = std::variant<SharedBytes, FileRegion>;

// The chunks of one response in order.
struct Response {
  std::vector<Chunk> chunks;
  int64_t bytes() const;
};

}  // namespace millrace::env
