#include "millrace/coordinator/events.h"

#include "answers.h"

namespace millrace::coordinator {

namespace {

void fail(std::vector<ErrorCode>& parts, ErrorCode error) {
  for (auto& one : parts) {
    if (one == ErrorCode::none) one = error;
  }
}

struct SetError {
  ErrorCode error;
  void operator()(JoinAnswer& answer) const { answer = join_error(error, std::move(answer.member_id)); }
  void operator()(SyncAnswer& answer) const { answer = sync_error(error); }
  void operator()(HeartbeatAnswer& answer) const { answer.error = error; }
  void operator()(LeaveAnswer& answer) const { answer = {error, {}}; }
  void operator()(CommitAnswer& answer) const { fail(answer.partitions, error); }
  void operator()(FetchAnswer& answer) const { answer = {error, {}}; }
  void operator()(DeleteOffsetsAnswer& answer) const { answer = {error, {}}; }
  void operator()(ListAnswer& answer) const { answer = {error, {}}; }
  void operator()(DescribeAnswer& answer) const { answer = describe_error(error); }
  void operator()(DeleteGroupAnswer& answer) const { answer.error = error; }
};

template <class T>
concept Request = requires(T& request) { request.ticket; };

struct Refuse {
  ErrorCode error;
  Answer operator()(JoinGroup const& request) const { return join_error(error, request.member_id); }
  Answer operator()(SyncGroup const&) const { return sync_error(error); }
  Answer operator()(Heartbeat const&) const { return HeartbeatAnswer{error}; }
  Answer operator()(LeaveGroup const&) const { return LeaveAnswer{error, {}}; }
  Answer operator()(CommitOffsets const& request) const { return CommitAnswer{{request.partitions.size(), error}}; }
  Answer operator()(FetchOffsets const&) const { return FetchAnswer{error, {}}; }
  Answer operator()(DeleteOffsets const&) const { return DeleteOffsetsAnswer{error, {}}; }
  Answer operator()(ListGroups const&) const { return ListAnswer{error, {}}; }
  Answer operator()(DescribeGroup const&) const { return describe_error(error); }
  Answer operator()(DeleteGroup const&) const { return DeleteGroupAnswer{error}; }
  template <class T>
    requires(!Request<T>)
  Answer operator()(T const&) const {
    MR_ASSERT(false);
    return {};
  }
};

struct SetTicket {
  Ticket ticket;
  template <Request T>
  void operator()(T& request) const {
    request.ticket = ticket;
  }
  template <class T>
    requires(!Request<T>)
  void operator()(T&) const {
    MR_ASSERT(false);
  }
};

}  // namespace

void set_error(Answer& answer, ErrorCode error) { std::visit(SetError{error}, answer); }

Answer refusal(Event const& request, ErrorCode error) { return std::visit(Refuse{error}, request); }

void set_ticket(Event& request, Ticket ticket) { std::visit(SetTicket{ticket}, request); }

}  // namespace millrace::coordinator
