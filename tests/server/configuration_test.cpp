// Configuration: Kafka's keys from properties and YAML files, the environment and -o; what is refused and how it says so;
// what the keys mean together for a node.
#include <gtest/gtest.h>

#include <fstream>

#include "millrace/server/configuration.h"
#include "millrace/server/node_options.h"
#include "millrace/server/server.h"

namespace millrace::server {
namespace {

Result<Configuration> load(std::string content, std::vector<std::string> overrides = {}, std::string name = "server.properties",
                           std::vector<std::pair<std::string, std::string>> environment = {}) {
  return Configuration::load({std::move(name), std::move(content), std::move(environment), std::move(overrides)});
}

std::string error_of(std::string const& content) {
  auto const loaded = load(content);
  return loaded ? "" : loaded.error().message;
}

TEST(Settings, the_table_is_sorted_and_its_defaults_are_good) {
  auto const& all = known_settings();
  ASSERT_GT(all.size(), 380u);
  for (size_t i = 0; i < all.size(); ++i) {
    auto const& s = all[i]->setting;
    SCOPED_TRACE(s.name);
    EXPECT_TRUE(i == 0 || all[i - 1]->setting.name < s.name);
    if (!s.is_unset_by_default) {
      EXPECT_EQ(check_value(*all[i], s.default_text), std::nullopt);
    }
    EXPECT_TRUE(!s.name.starts_with("millrace.") || !s.sentence.empty());
  }
  EXPECT_EQ(find_setting("log.dirs")->setting.type, SettingType::list);
  EXPECT_EQ(find_setting("no.such.key"), nullptr);
  EXPECT_EQ(find_setting("num.partitions")->support, Support::served);
}

TEST(Configuration, reads_properties_as_java_does) {
  auto const entries = parse_properties(
      "# comment\n! comment\n\n  a = 1 \nb:2\r\nc 3\nd\ne=x\\\n   y\\\\\nf\\=g=h\\u00e9\\tz\n");
  ASSERT_TRUE(entries.ok());
  std::string all;
  for (auto const& e : *entries) all += fmt::format("{}:{}={} ", e.line, e.key, e.value);
  EXPECT_EQ(all, "4:a=1 5:b=2 6:c=3 7:d= 8:e=xy\\ 10:f=g=h\xc3\xa9\tz ");
  EXPECT_FALSE(parse_properties("a=\\u12g4").ok());
}

TEST(Configuration, reads_yaml_nested_and_flat) {
  auto const loaded = load("log:\n  dirs: [/a, /b]\n  retention.ms: -1\nnum.partitions: 3\nauto.create:\n  topics.enable: false\n", {},
                           "server.yaml");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->list("log.dirs"), (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(loaded->integer("log.retention.ms"), -1);
  EXPECT_EQ(loaded->integer("num.partitions"), 3);
  EXPECT_FALSE(loaded->boolean("auto.create.topics.enable"));
  EXPECT_EQ(loaded->values().at("num.partitions").place, "server.yaml:4");
  EXPECT_FALSE(load("a: [", {}, "x.yml").ok());
  EXPECT_FALSE(load("log:\n  dirs:\n    - {a: b}\n", {}, "x.yml").ok());
  EXPECT_FALSE(load("- a\n", {}, "x.yml").ok());
}

TEST(Configuration, later_origins_win) {
  auto const loaded = load("num.partitions=2\nlog.dirs=/file\nfetch.max.bytes=2048\n", {"log.dirs=/line"}, "server.properties",
                           {{"MILLRACE_LOG_DIRS", "/env"}, {"MILLRACE_FETCH_MAX_BYTES", "4096"}, {"PATH", "/bin"}});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->text("log.dirs"), "/line");
  EXPECT_EQ(loaded->values().at("log.dirs").origin, Origin::command_line);
  EXPECT_EQ(loaded->integer("fetch.max.bytes"), 4096);
  EXPECT_EQ(loaded->values().at("fetch.max.bytes").place, "MILLRACE_FETCH_MAX_BYTES");
  EXPECT_EQ(loaded->integer("num.partitions"), 2);
  EXPECT_EQ(loaded->integer("default.replication.factor"), 1);
  EXPECT_EQ(loaded->text("log.retention.ms"), std::nullopt);
  EXPECT_TRUE(loaded->warnings().empty());
}

TEST(Configuration, refuses_with_the_place_and_the_nearest_key) {
  EXPECT_EQ(error_of("\nnum.partition=3\n"), "server.properties:2: unknown key num.partition; the nearest one is num.partitions");
  EXPECT_EQ(error_of("num.partitions=0"), "server.properties:1: num.partitions=0 must be at least 1; or leave it out for the default, 1");
  EXPECT_EQ(error_of("num.partitions=many"), "server.properties:1: num.partitions=many is not an integer from -2147483648 to 2147483647; or leave it out for the default, 1");
  EXPECT_EQ(error_of("compression.gzip.level=0"), "server.properties:1: compression.gzip.level=0 must be at least 1 and at most 9, or -1; or leave it out for the default, -1");
  EXPECT_EQ(error_of("compression.gzip.level=-1"), "");
  EXPECT_EQ(error_of("auto.create.topics.enable=yes"), "server.properties:1: auto.create.topics.enable=yes is neither true nor false; or leave it out for the default, true");
  EXPECT_EQ(error_of("log.cleanup.policy=delete,shrink"), "server.properties:1: log.cleanup.policy=delete,shrink must be one of compact,delete; or leave it out for the default, delete");
  EXPECT_EQ(error_of("log.drs=a\nnum.partitions=x").find('\n') != std::string::npos, true);  // all problems at once
  EXPECT_NE(error_of("authorizer.class.name=org.Kafka"), "");  // ignoring it would open the cluster
  EXPECT_FALSE(load("", {"novalue"}).ok());
}

TEST(Configuration, names_no_nearest_key_for_another_word) {
  EXPECT_EQ(error_of("colour=red"), "server.properties:1: unknown key colour; none is like it, `millrace config reference` lists them all");
  EXPECT_EQ(error_of("logdirs=/x"), "server.properties:1: unknown key logdirs; the nearest one is log.dirs");
  EXPECT_NE(error_of("LOG.DIR=/x").find("the nearest one is log.dir"), std::string::npos);
}

TEST(Configuration, shows_control_bytes_escaped) {
  EXPECT_EQ(error_of("num\x1b[31m=1"),
            "server.properties:1: unknown key num\\x1b[31m; none is like it, `millrace config reference` lists them all");
  EXPECT_NE(error_of("num.partitions=1\\nforged\x07").find("num.partitions=1\\x0aforged\\x07 is not"), std::string::npos);
  EXPECT_LT(error_of(std::string(100'000, 'k') + "=1").size(), 400u);
}

TEST(Configuration, rules_between_keys_are_kafkas) {
  EXPECT_EQ(error_of("group.consumer.session.timeout.ms=1000"),
            "server.properties:1: group.consumer.session.timeout.ms=1000 must be at least "
            "group.consumer.min.session.timeout.ms=45000 (the default); change one of the two");
  EXPECT_EQ(error_of("group.consumer.max.session.timeout.ms=44000\ngroup.consumer.session.timeout.ms=44500\n"
                     "group.consumer.min.session.timeout.ms=40000"),
            "server.properties:2: group.consumer.session.timeout.ms=44500 must be at most server.properties:1: "
            "group.consumer.max.session.timeout.ms=44000; change one of the two");
  for (auto const* refused :
       {"log.retention.ms=0", "log.retention.hours=0", "log.roll.ms=0", "log.roll.jitter.ms=-1", "queued.max.request.bytes=1000",
        "connections.max.idle.ms=100", "max.connections.per.ip=0", "log.cleaner.threads=0", "log.cleaner.dedupe.buffer.size=1000",
        "log.cleaner.threads=200", "group.share.max.size=1000\ngroup.share.max.share.sessions=999",
        "replica.fetch.wait.max.ms=31000", "advertised.listeners=", "group.consumer.assignors=", "offsets.topic.compression.codec=5"}) {
    EXPECT_NE(error_of(refused), "") << refused;
  }
  for (auto const* taken :
       {"log.retention.ms=-1\nlog.retention.hours=0", "log.retention.ms=-2", "queued.max.request.bytes=104857600",
        "connections.max.idle.ms=-1", "max.connections.per.ip=0\nmax.connections.per.ip.overrides=10.0.0.1:5"}) {
    EXPECT_EQ(error_of(taken), "") << taken;
  }
}

// Differences that are meant; a key alone stands for all its values.
bool may_differ(std::string const& key, std::string const& value, bool kafka_takes) {
  if (!kafka_takes) {
    // Not served yet, but for the first: a node alone needs to be told of no quorum.
    return (key == "controller.quorum.voters" && value.empty()) || key == "group.consumer.assignors" ||
           key == "group.share.assignors" || key == "group.streams.assignors" || key == "group.streams.rack.aware.assignment.tags";
  }
  auto const* const known = find_setting(key);
  bool const is_odd_number = known->setting.type == SettingType::real && value.find_first_of("NIxd") != std::string::npos;
  return is_odd_number || known->support == Support::refused || (key == "log.dirs" && value == "a,a") ||
         key == "replica.selector.class";  // a class that is not there is refused before it is needed
}

TEST(Configuration, takes_and_refuses_the_values_that_kafka_takes_and_refuses) {
  std::ifstream in(MR_TEST_DATA "/configuration/kafka-verdicts.tsv");
  std::string line;
  size_t count = 0;
  while (std::getline(in, line)) {
    if (line.starts_with('#')) continue;
    auto const first = line.find('\t');
    auto const second = line.find('\t', first + 1);
    auto const key = line.substr(first + 1, second - first - 1);
    auto const value = line.substr(second + 1);
    bool const kafka_takes = line.starts_with("ok");
    auto const loaded = load(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:9093\nlog.dirs=/data\n"
        "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n",
        {key + "=" + value});
    auto const plan = loaded ? plan_node(*loaded) : loaded.error();
    auto const is_taken = plan.ok() && compose_node(*loaded, *plan).ok();
    EXPECT_TRUE(is_taken == kafka_takes || may_differ(key, value, kafka_takes)) << line;
    ++count;
  }
  EXPECT_GT(count, 4000u);
}

TEST(Configuration, warns_of_odd_values_that_kafka_takes) {
  EXPECT_EQ(load("log.retention.ms=-2")->warnings(),
            (std::vector<std::string>{"server.properties:1: log.retention.ms=-2 means no limit, as any negative value does; write "
                                      "-1 if that is meant"}));
  EXPECT_EQ(load("broker.session.timeout.ms=3000")->warnings().size(), 1u);
}

TEST(Configuration, warns_of_what_has_no_effect) {
  auto const loaded = load("num.io.threads=8\nmetadata.log.segment.ms=86400000\nlog.cleaner.backoff.ms=15000\nnum.partitions=1\nnum.partitions=2\n");
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->warnings(),
            (std::vector<std::string>{"server.properties:1: num.io.threads means something to a JVM only and is ignored",
                                      "server.properties:2: metadata.log.segment.ms has no effect in this version",
                                      "server.properties:5: num.partitions is set twice; the last value counts"}));
  EXPECT_TRUE(load("listener.name.external.ssl.keystore.location=/x").ok());
  EXPECT_FALSE(load("listener.name.external.ssl.keystor.location=/x").ok());
}

std::string plan_error(std::string const& content) {
  auto const loaded = load(content);
  if (!loaded) return "load: " + loaded.error().message;
  auto const plan = plan_node(*loaded);
  return plan ? "" : plan.error().message;
}

TEST(NodeOptions, a_sole_node_starts_from_nothing) {
  auto const plan = plan_node(*load(""));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->node_id, BrokerId(1));
  EXPECT_TRUE(plan->is_broker && plan->is_controller && plan->is_sole_voter());
  ASSERT_EQ(plan->listeners.size(), 2u);
  EXPECT_EQ(plan->listeners[0].name, "PLAINTEXT");
  EXPECT_EQ(plan->listeners[0].host, "localhost");
  EXPECT_EQ(plan->listeners[0].port, 9092);
  EXPECT_TRUE(plan->listeners[1].is_controller);
  EXPECT_EQ(plan->listeners[1].port, 9093);
  EXPECT_EQ(plan->inter_broker_listener, "PLAINTEXT");
  EXPECT_EQ(plan->log_directories, (std::vector<std::string>{"/tmp/kafka-logs"}));

  auto const only_clients = plan_node(*load("listeners=inside://:19092\nlistener.security.protocol.map=INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT"));
  ASSERT_TRUE(only_clients.ok()) << only_clients.error().message;
  ASSERT_EQ(only_clients->listeners.size(), 2u);
  EXPECT_EQ(only_clients->listeners[1].port, 0);  // any
  EXPECT_EQ(only_clients->inter_broker_listener, "INSIDE");
}

TEST(NodeOptions, kafkas_combined_mode) {
  auto const plan = plan_node(*load(
      "process.roles=broker,controller\nnode.id=3\ncontroller.quorum.voters=1@a:9093,2@b:9093,3@[::1]:9093\n"
      "controller.listener.names=CONTROLLER\nlisteners=PLAINTEXT://:9092,OUTSIDE://10.0.0.1:9094,CONTROLLER://:9093\n"
      "advertised.listeners=OUTSIDE://broker.example:39094\ninter.broker.listener.name=PLAINTEXT\n"
      "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT\nlog.dirs=/a/,/b\n"));
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_FALSE(plan->is_sole_voter());
  ASSERT_EQ(plan->voters.size(), 3u);
  EXPECT_EQ(plan->voters[2].host, "::1");
  ASSERT_EQ(plan->advertised.size(), 1u);
  EXPECT_EQ(plan->advertised[0].host, "broker.example");
  EXPECT_EQ(plan->log_directories, (std::vector<std::string>{"/a", "/b"}));
  EXPECT_EQ(plan->metadata_directory, "/a");
}

TEST(NodeOptions, the_admin_listener_must_be_an_address) {
  for (auto const* refused : {"nonsense", "host.example:9644", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", ":9644", "::1:9644x"}) {
    EXPECT_NE(plan_error(std::string("millrace.admin.listener=") + refused).find("such as 127.0.0.1:9644"), std::string::npos) << refused;
  }
  for (auto const* taken : {"", "127.0.0.1:9644", "localhost:0", "[::1]:9644", "0.0.0.0:1"}) {
    EXPECT_EQ(plan_error(std::string("millrace.admin.listener=") + taken), "") << taken;
  }
}

TEST(NodeOptions, a_wildcard_of_either_family_listens_on_both_as_on_a_jvm) {
  for (std::string const host : {"", "[::]", "0.0.0.0"}) {
    SCOPED_TRACE(host);
    auto const configuration = *load("listeners=PLAINTEXT://" + host + ":9092");
    auto const node = compose_node(configuration, *plan_node(configuration));
    ASSERT_TRUE(node.ok()) << node.error().message;
    std::vector<env::SocketAddress> const both{{"0.0.0.0", 9092}, {"::", 9092}};
    EXPECT_EQ(node->listeners[0].net.addresses, both);
  }
}

TEST(NodeOptions, refuses_what_kafka_refuses) {
  std::string const base = "process.roles=broker,controller\nnode.id=1\ncontroller.listener.names=CONTROLLER\n";
  EXPECT_NE(plan_error("process.roles=broker,controller\ncontroller.listener.names=CONTROLLER\n").find("node.id"), std::string::npos);
  EXPECT_NE(plan_error(base + "listeners=PLAINTEXT://:9092").find("controller.listener.names"), std::string::npos);
  EXPECT_NE(plan_error(base + "listeners=CONTROLLER://:9093").find("a broker needs"), std::string::npos);
  EXPECT_NE(plan_error(base + "listeners=PLAINTEXT://:9092,CONTROLLER://:9092").find("port 9092"), std::string::npos);
  EXPECT_NE(plan_error(base + "listeners=PLAINTEXT:9092,CONTROLLER://:9093").find("NAME://HOST:PORT"), std::string::npos);
  EXPECT_NE(plan_error(base + "listeners=OTHER://:9092,CONTROLLER://:9093").find("not in listener.security"), std::string::npos);
  EXPECT_NE(plan_error(base + "listeners=SSL://:9092,CONTROLLER://:9093").find("does not serve"), std::string::npos);
  EXPECT_NE(plan_error("advertised.listeners=PLAINTEXT://0.0.0.0:9092").find("can connect to"), std::string::npos);
  EXPECT_NE(plan_error("advertised.listeners=OUTSIDE://a:9092").find("not in listeners"), std::string::npos);
  EXPECT_NE(plan_error("controller.quorum.voters=2@a:9093").find("does not hold"), std::string::npos);
  EXPECT_NE(plan_error("controller.quorum.voters=a:9093").find("ID@HOST:PORT"), std::string::npos);
  EXPECT_NE(plan_error("log.dirs=/a,/a/").find("twice"), std::string::npos);
  EXPECT_NE(plan_error("process.roles=broker\nnode.id=1\ncontroller.listener.names=CONTROLLER").find("where the controllers are"), std::string::npos);
  EXPECT_EQ(plan_error("process.roles=broker\nnode.id=1\ncontroller.listener.names=CONTROLLER\ncontroller.quorum.bootstrap.servers=a:1"), "");
  EXPECT_NE(plan_error("inter.broker.listener.name=OTHER").find("not one of"), std::string::npos);
}

}  // namespace
}  // namespace millrace::server
