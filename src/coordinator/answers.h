// Answers that carry nothing but an error.
#pragma once
#include "millrace/coordinator/events.h"

namespace millrace::coordinator {

inline JoinAnswer join_error(ErrorCode error, std::string member_id) {
  JoinAnswer answer;
  answer.error = error;
  answer.member_id = std::move(member_id);
  return answer;
}
inline SyncAnswer sync_error(ErrorCode error) { return {error, {}, {}, {}}; }
inline DescribeAnswer describe_error(ErrorCode error) {
  DescribeAnswer answer;
  answer.error = error;
  return answer;
}

}  // namespace millrace::coordinator
