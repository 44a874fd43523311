// A coordinator with its log, driven by lines of text. After every line the machine's invariants hold and replaying its
// log gives its replicated state.
//
//   join GROUP MEMBER [instance=I] [v=N] [session=MS] [rebalance=MS] [type=T] [client=C] [protocols=NAME:METADATA,...]
//   sync GROUP MEMBER GENERATION [instance=I] [type=T] [protocol=P] [assign=MEMBER:TEXT,...]
//   heartbeat GROUP MEMBER GENERATION [instance=I]    leave GROUP MEMBER[/INSTANCE] ...
//   commit GROUP MEMBER GENERATION TOPIC-PARTITION:OFFSET[:METADATA] ... [v=N] [retention=MS] [instance=I] [id=N]
//   fetch GROUP [TOPIC-PARTITION ...] [stable] [id=N]  delete-offsets GROUP TOPIC-PARTITION ...
//   describe GROUP   delete GROUP   list [states=S,...] [types=T,...]   topic-deleted TOPIC [id=N]
//   wait MS (runs the timers on the way)   hold | accept | refuse ERROR (appends; accepted at once unless held)
//   reload (a new machine from the log)   resign   load   loaded
//
// A METADATA of @TOPIC+TOPIC+... is a consumer's subscription to these. MEMBER is - for none. Member ids that the
// machine makes are written m1, m2, ... in the order of their random parts.
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

#include "millrace/bytes/cursor.h"
#include "millrace/coordinator/group_coordinator.h"

namespace millrace::coordinator {

class Story {
 public:
  explicit Story(GroupConfig config = {}, Hooks& hooks = Hooks::none()) : config_(config), hooks_(hooks) { reload(); }

  GroupCoordinator& machine() { return *machine_; }
  std::vector<Record> const& log() const { return log_; }

  std::string on(std::string const& line) {
    std::stringstream in(line);
    std::string verb;
    in >> verb;
    words_.clear();
    options_.clear();
    for (std::string word; in >> word;) {
      if (auto const at = word.find('='); at != std::string::npos)
        options_[word.substr(0, at)] = word.substr(at + 1);
      else
        words_.push_back(word);
    }
    said_.clear();
    if (verb == "hold")
      is_held_ = true;
    else if (verb == "reload")
      reload();
    else if (verb == "wait")
      wait(std::stoi(words_.at(0)));
    else if (verb == "accept") {
      is_held_ = false;
      settle({});
    } else if (verb == "refuse") {
      is_held_ = false;
      settle(error_of(words_.at(0)));
    } else
      event(parse(verb));
    check();
    return said_ + shorten(machine_->text());
  }

  void check() {
    machine_->check_invariants();
    if (machine_->is_deciding() || !machine_->is_active()) return;
    GroupStore replayed;
    for (auto const& record : log_) {
      EXPECT_TRUE(
          replayed.replay(record.key.view(), record.value ? std::optional(record.value->view()) : std::nullopt).ok());
    }
    EXPECT_EQ(replayed.text(), machine_->store().text());
  }

 private:
  void reload() {
    machine_ = std::make_unique<GroupCoordinator>(config_, hooks_);
    held_.clear();
    event(LoadStarted{});
    for (auto const& record : log_) {
      EXPECT_TRUE(
          machine_->replay(record.key.view(), record.value ? std::optional(record.value->view()) : std::nullopt).ok());
    }
    event(Loaded{Offset(static_cast<int64_t>(log_.size()))});
  }

  void wait(int64_t ms) {
    auto const until = now_.mono + from_ms(ms);
    while (!machine_->is_deciding() && machine_->next_deadline() <= until) {
      pass(std::max(machine_->next_deadline(), now_.mono));
      event(TimerFired{});
    }
    pass(until);
  }
  void pass(Mono to) {
    now_.wall.ms += to_ms(to - now_.mono);
    now_.mono = to;
  }

  void event(Event event) {
    Effects out;
    machine_->on_event(std::move(event), now_, out);
    for (auto& one : out.replies) {
      said_ += shorten(say(one)) + "\n";
      EXPECT_EQ(one.after_offset, Offset(machine_->is_active() ? static_cast<int64_t>(log_.size()) : 0));
    }
    if (out.append.empty()) return;
    EXPECT_TRUE(machine_->is_deciding());
    held_ = out.append;
    for (auto const& record : held_) said_ += "append " + shorten(say(record)) + "\n";
    if (!is_held_) settle({});
  }
  void settle(std::optional<ErrorCode> error) {
    if (!machine_->is_deciding()) {
      ADD_FAILURE() << "nothing is being appended";
      return;
    }
    if (error) return event(AppendRefused{*error});
    log_.insert(log_.end(), held_.begin(), held_.end());
    held_.clear();
    event(AppendAccepted{Offset(static_cast<int64_t>(log_.size()))});
  }

  static ErrorCode error_of(std::string const& text) {
    for (int16_t code = -1; code < 140; ++code) {
      if (error_name(static_cast<ErrorCode>(code)) == text) return static_cast<ErrorCode>(code);
    }
    ADD_FAILURE() << text;
    return ErrorCode::none;
  }

  int option(std::string const& name, int otherwise) {
    return options_.contains(name) ? std::stoi(options_[name]) : otherwise;
  }
  std::optional<std::string> text_option(std::string const& name) {
    return options_.contains(name) ? std::optional(options_[name]) : std::nullopt;
  }
  static std::vector<std::string> split(std::string const& text, char at) {
    std::vector<std::string> out;
    std::stringstream in(text);
    for (std::string one; std::getline(in, one, at);) out.push_back(one);
    return out;
  }
  std::string member(std::string const& word) const {
    if (word == "-") return "";
    auto const at = ids_.find(word);
    return at == ids_.end() ? word : at->second;
  }
  // Version 0: a list of topics, user data.
  Blob metadata(std::string const& word) {
    if (!word.starts_with('@')) return make_blob(as_bytes(word));
    auto const topics = split(word.substr(1), '+');
    std::string out{0, 0};
    out += std::string{0, 0, 0, static_cast<char>(topics.size())};
    for (auto const& topic : topics) out += std::string{0, static_cast<char>(topic.size())} + topic;
    out += std::string(4, '\xff');
    shorts_[out] = word;
    return make_blob(as_bytes(out));
  }
  static std::pair<std::string, int32_t> topic_partition(std::string const& word) {
    auto const at = word.rfind('-');
    return {word.substr(0, at), std::stoi(word.substr(at + 1))};
  }
  Uuid topic_id() {
    Uuid id;
    id.bytes[15] = static_cast<uint8_t>(option("id", 0));
    return id;
  }

  Event parse(std::string const& verb) {
    auto const ticket = ++ticket_;
    auto const word = [&](size_t index) { return index < words_.size() ? words_[index] : std::string(); };
    if (verb == "join") {
      auto const version = option("v", 9);
      JoinGroup join;
      join.ticket = ticket;
      join.group_id = word(0) == "-" ? "" : word(0);
      join.member_id = member(word(1));
      join.instance_id = text_option("instance");
      join.client_id = text_option("client").value_or("c");
      join.client_host = "/h";
      join.session_timeout_ms = option("session", 10'000);
      join.rebalance_timeout_ms = option("rebalance", 60'000);
      join.protocol_type = text_option("type").value_or("consumer");
      for (auto const& one : split(text_option("protocols").value_or("range:a"), ',')) {
        auto const parts = split(one, ':');
        if (parts.empty()) continue;
        join.protocols.push_back({parts[0], metadata(parts.size() > 1 ? parts[1] : std::string())});
      }
      join.wants_known_member_id = version >= 4;
      join.can_skip_assignment = version >= 9;
      if (!join.member_id.empty()) return join;
      join.unique.bytes[15] = ++unique_;
      auto const full = fmt::format("{}-00000000-0000-0000-0000-0000000000{:02x}",
                                    join.instance_id.value_or(join.client_id), unique_);
      ids_[fmt::format("m{}", unique_)] = full;
      shorts_[full] = fmt::format("m{}", unique_);
      return join;
    }
    if (verb == "sync") {
      SyncGroup sync{ticket,
                     word(0),
                     std::stoi(word(2)),
                     member(word(1)),
                     text_option("instance"),
                     text_option("type"),
                     text_option("protocol"),
                     {}};
      for (auto const& one : split(text_option("assign").value_or(""), ',')) {
        auto const parts = split(one, ':');
        sync.assignments.emplace_back(member(parts[0]), make_blob(as_bytes(parts[1])));
      }
      return sync;
    }
    if (verb == "heartbeat")
      return Heartbeat{ticket, word(0), std::stoi(word(2)), member(word(1)), text_option("instance")};
    if (verb == "leave") {
      LeaveGroup leave{ticket, word(0), {}};
      for (size_t i = 1; i < words_.size(); ++i) {
        auto const parts = split(words_[i], '/');
        leave.members.push_back({member(parts[0]), parts.size() > 1 ? std::optional(parts[1]) : std::nullopt});
      }
      return leave;
    }
    if (verb == "commit") {
      CommitOffsets commit{ticket,
                           word(0),
                           std::stoi(word(2)),
                           member(word(1)),
                           text_option("instance"),
                           option("retention", -1),
                           option("v", 9) >= 9,
                           {}};
      for (size_t i = 3; i < words_.size(); ++i) {
        auto const parts = split(words_[i], ':');
        auto const [topic, partition] = topic_partition(parts[0]);
        commit.partitions.push_back(
            {topic, topic_id(), partition, std::stoll(parts[1]), -1, parts.size() > 2 ? parts[2] : std::string()});
      }
      return commit;
    }
    if (verb == "fetch") {
      FetchOffsets fetch{ticket, word(0), {}, option("stable", 0) != 0};
      for (size_t i = 1; i < words_.size(); ++i) {
        auto const [topic, partition] = topic_partition(words_[i]);
        if (!fetch.topics) fetch.topics.emplace();
        if (fetch.topics->empty() || fetch.topics->back().name != topic)
          fetch.topics->push_back({topic, topic_id(), {}});
        fetch.topics->back().partitions.push_back(partition);
      }
      return fetch;
    }
    if (verb == "delete-offsets") {
      DeleteOffsets request{ticket, word(0) == "-" ? "" : word(0), {}};
      for (size_t i = 1; i < words_.size(); ++i) request.partitions.push_back(topic_partition(words_[i]));
      return request;
    }
    if (verb == "describe") return DescribeGroup{ticket, word(0)};
    if (verb == "delete") return DeleteGroup{ticket, word(0)};
    if (verb == "list") {
      return ListGroups{ticket, split(text_option("states").value_or(""), ','),
                        split(text_option("types").value_or(""), ',')};
    }
    if (verb == "topic-deleted") return TopicsDeleted{{{word(0), topic_id()}}};
    if (verb == "load") return LoadStarted{};
    if (verb == "loaded") return Loaded{Offset(static_cast<int64_t>(log_.size()))};
    EXPECT_EQ(verb, "resign");
    return Resign{};
  }

  std::string shorten(std::string text) const {
    for (auto const& [full, brief] : shorts_) {
      for (size_t at = 0; (at = text.find(full, at)) != std::string::npos;) text.replace(at, full.size(), brief);
    }
    return text;
  }

  static std::string say(Record const& record) {
    if (!record.value) {
      Reader in(record.key.view());
      auto const type = in.i16();
      auto const text = [&] { return std::string(as_text(in.bytes(static_cast<size_t>(in.i16())))); };
      auto const group = text();
      if (type == 2) return "no group " + group;
      auto const topic = text();
      return fmt::format("no offset {} {}-{}", group, topic, in.i32());
    }
    GroupStore store;
    EXPECT_TRUE(store.replay(record.key.view(), record.value->view()).ok());
    auto out = store.text();
    out.pop_back();
    return out;
  }

  static std::string say(Reply const& reply) {
    auto const errors = [](std::vector<ErrorCode> const& all) {
      std::string out;
      for (auto const one : all) out += fmt::format(" {}", one);
      return out;
    };
    struct {
      decltype(errors)& list;
      std::string operator()(JoinAnswer const& a) const {
        auto out = fmt::format("join {}", a.error);
        if (a.error != ErrorCode::none) return out + fmt::format(" as {}", a.member_id.empty() ? "-" : a.member_id);
        out = fmt::format("join generation {} {}/{} leader {} as {}", a.generation, a.protocol_type.value_or("-"),
                          a.protocol.value_or("-"), a.leader, a.member_id);
        if (a.skip_assignment) out += " skip";
        for (auto const& one : a.members) {
          out += fmt::format(" [{} {} {}]", one.id, one.instance_id.value_or("-"), text_of(one.metadata));
        }
        return out;
      }
      std::string operator()(SyncAnswer const& a) const {
        if (a.error != ErrorCode::none) return fmt::format("sync {}", a.error);
        return fmt::format("sync {}/{} {}", a.protocol_type.value_or("-"), a.protocol.value_or("-"),
                           text_of(a.assignment));
      }
      std::string operator()(HeartbeatAnswer const& a) const { return fmt::format("heartbeat {}", a.error); }
      std::string operator()(LeaveAnswer const& a) const {
        return fmt::format("leave {}:{}", a.error, list(a.members));
      }
      std::string operator()(CommitAnswer const& a) const { return "commit" + list(a.partitions); }
      std::string operator()(FetchAnswer const& a) const {
        auto out = fmt::format("fetch {}", a.error);
        for (auto const& topic : a.topics) {
          for (auto const& one : topic.partitions) {
            out += fmt::format(" {}-{}:{}{}", topic.name, one.index, one.offset,
                               one.metadata.empty() ? "" : ":" + one.metadata);
            if (one.error != ErrorCode::none) out += fmt::format(":{}", one.error);
          }
        }
        return out;
      }
      std::string operator()(DeleteOffsetsAnswer const& a) const {
        return fmt::format("delete-offsets {}:{}", a.error, list(a.partitions));
      }
      std::string operator()(ListAnswer const& a) const {
        auto out = fmt::format("list {}", a.error);
        for (auto const& one : a.groups)
          out += fmt::format(" [{} {} {} {}]", one.id, one.protocol_type, one.state, one.type);
        return out;
      }
      std::string operator()(DescribeAnswer const& a) const {
        auto out = fmt::format("describe {} {} type={} protocol={}", a.error, a.state, a.protocol_type, a.protocol);
        for (auto const& one : a.members) {
          out += fmt::format(" [{} {} {}{} {}->{}]", one.id, one.instance_id.value_or("-"), one.client_id,
                             one.client_host, text_of(one.metadata), text_of(one.assignment));
        }
        return out;
      }
      std::string operator()(DeleteGroupAnswer const& a) const { return fmt::format("delete {}", a.error); }
    } visitor{errors};
    return fmt::format("#{} {}", reply.ticket, std::visit(visitor, reply.answer));
  }

  GroupConfig config_;
  Hooks& hooks_;
  std::unique_ptr<GroupCoordinator> machine_;
  Now now_{Mono{1s}, Wall{1'000'000}};
  std::vector<Record> log_, held_;
  bool is_held_ = false;
  std::vector<std::string> words_;
  std::map<std::string, std::string> options_, ids_, shorts_;
  std::string said_;
  Ticket ticket_ = 0;
  uint8_t unique_ = 0;
};

}  // namespace millrace::coordinator
