// A principal as Envelope carries it, behind an int16 version.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct DefaultPrincipalData {
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Str type;
  Str name;
  bool token_authenticated{};
  static void describe(auto& m, auto& v) {
    v(m.type, {"Type", since(0)});
    v(m.name, {"Name", since(0)});
    v(m.token_authenticated, {"TokenAuthenticated", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
