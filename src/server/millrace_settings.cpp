// The node's own keys, for what has no name in Kafka. In the node's file only, never in a topic's configuration.
#include "kafka_settings.h"

namespace millrace::server {

namespace {

using T = SettingType;
constexpr auto kRestart = SettingChange::restart;
constexpr auto kHighest = std::numeric_limits<double>::max();

constexpr KnownSetting kSettings[] = {
    {{"millrace.admin.listener", T::string, "127.0.0.1:9644",
      "Address and port of /live, /ready, /metrics, /lag and /hot over plain HTTP; empty: none."}, 0, Support::served},
    {{"millrace.cluster.id", T::string, "",
      "The cluster id that an empty log directory is given; a sole voter draws one itself.", kRestart, 0, 0, "", true},
     kUnset, Support::served},
    {{"millrace.fetch.sendfile.bytes.min", T::int64, "65536",
      "Ranges of a log from this size on leave by sendfile; smaller ones are read into the answer.", kRestart, 0, kHighest},
     0, Support::served},
    {{"millrace.flush.bytes", T::int64, "67108864",
      "Most bytes of a partition that stay unsynced before they are written out in the background.", kRestart, 1, kHighest},
     0, Support::served},
    {{"millrace.flush.interval.ms", T::int64, "1000",
      "Longest time that bytes stay unsynced before they are written out in the background.", kRestart, 10, kHighest},
     0, Support::served},
    {{"millrace.group.stuck.ms", T::int64, "300000",
      "A group is stuck on a partition when for so long its lag grew and no commit moved.", kRestart, 1000, kHighest}, 0,
     Support::served},
    {{"millrace.log.file", T::string, "", "File that log lines are appended to; empty: standard error."}, 0,
     Support::served},
    {{"millrace.log.level", T::string, "info", "Least level of log lines that are written.", kRestart, 0, 0,
      "trace,debug,info,warn,error"}, 0, Support::served},
    {{"millrace.metrics.group.partitions.max", T::int32, "10000",
      "For so many partitions of groups lag is told; the others are counted.", kRestart, 0, 1'000'000}, 0,
     Support::served},
    {{"millrace.metrics.topics.max", T::int32, "500",
      "So many topics have metrics of their own; all others together have one row, (other).", kRestart, 0, 100'000}, 0,
     Support::served},
    {{"millrace.open.files.max", T::int32, "0",
      "Most log files held open at once; 0: the process's limit less what connections may need.", kRestart, 0, kHighest},
     0, Support::served},
    {{"millrace.pool.threads", T::int32, "4", "Most threads of each log directory that wait for the disk.", kRestart, 1, 256},
     0, Support::served},
    {{"millrace.preallocate.bytes", T::int64, "67108864",
      "Largest step in which blocks of a segment are reserved ahead; 0: none are.", kRestart, 0, kHighest}, 0,
     Support::served},
    {{"millrace.produce.validation", T::string, "full",
      "full: records are checked as Kafka checks them, compressed ones too; header: only batch headers and checksums.",
      kRestart, 0, 0, "full,header"}, 0, Support::served},
    {{"millrace.space.ballast.bytes", T::int64, "16777216",
      "Room that each log directory keeps in the file millrace-ballast, to give it up when a start finds the disk full.", kRestart,
      0, kHighest}, 0, Support::served},
    {{"millrace.space.low.bytes", T::int64, "1073741824",
      "With fewer free bytes than this a log directory refuses Produce.", kRestart, 0, kHighest}, 0, Support::served},
    {{"millrace.stop.timeout.ms", T::int64, "3000",
      "How long a stop waits for running requests before it closes their connections.", kRestart, 0, 600'000}, 0,
     Support::served},
    {{"millrace.tcp.congestion.control", T::string, "",
      "TCP congestion control of accepted connections; empty: the system's."}, 0, Support::served},
    {{"millrace.threads", T::int32, "0", "Event loop threads; 0: one for two cores.", kRestart, 0, 64}, 0, Support::served},
};

}  // namespace

std::span<KnownSetting const> millrace_settings() { return kSettings; }

}  // namespace millrace::server
