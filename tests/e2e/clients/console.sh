#!/usr/bin/env bash
# Apache Kafka's console tools as a client of e2e.py: one partition, named by the consumer. KAFKA_TOOL is the runner of the
# stock tools (tool.sh NAME ARGUMENTS...).
#   console.sh create BOOTSTRAP TOPIC PARTITIONS | write BOOTSTRAP TOPIC PARTITIONS CODEC DATASET | read BOOTSTRAP TOPIC PARTITIONS COUNT OUT
#   console.sh group BOOTSTRAP TOPIC GROUP ASSIGNOR INSTANCE (the verifiable consumer; writes JSON)
set -euo pipefail
verb=$1 bootstrap=$2 topic=$3 partitions=$4
case $verb in
  create)
    "$KAFKA_TOOL" kafka-topics --bootstrap-server "$bootstrap" --create --topic "$topic" --partitions "$partitions" \
      --replication-factor 1 ;;
  write)
    # Headers come first on a line, then the key; an empty key is no key.
    awk -F '\t' '{headers = $2; gsub("=", ":", headers); gsub("NULL", "<NULL>", headers)
                  print headers "\t" ($1 == "" ? "<NULL>" : $1) "\t" $3}' "$6" > "$6.console"
    "$KAFKA_TOOL" kafka-console-producer --bootstrap-server "$bootstrap" --topic "$topic" --compression-codec "$5" \
      --reader-property parse.key=true --reader-property parse.headers=true --reader-property null.marker='<NULL>' \
      --command-property acks=all --command-property enable.idempotence=true < "$6.console"
    rm -f "$6.console" ;;
  read)
    "$KAFKA_TOOL" kafka-console-consumer --bootstrap-server "$bootstrap" --topic "$topic" --partition 0 --offset earliest \
      --max-messages "$5" --timeout-ms 60000 --formatter-property print.partition=true \
      --formatter-property print.offset=true --formatter-property print.headers=true --formatter-property print.key=true |
      python3 -c '
import sys
for line in sys.stdin.buffer:
    partition, offset, headers, key, value = line.rstrip(b"\n").split(b"\t")
    key = None if key == b"null" else key
    headers = headers.replace(b":null", b":NULL").replace(b":", b"=")
    sys.stdout.buffer.write(b"%s|%s|%d|%s|%s|%d|%s\n" % (partition.split(b":")[1], offset.split(b":")[1],
        -1 if key is None else len(key), key or b"", headers, len(value), value))' > "$6" ;;
  group)
    case $5 in
      range) assignor=Range ;;
      cooperative-sticky) assignor=CooperativeSticky ;;
    esac
    instance=()
    [ "$6" = - ] || instance=(--group-instance-id "$6")
    exec "$KAFKA_TOOL" kafka-verifiable-consumer --bootstrap-server "$bootstrap" --topic "$topic" --group-id "$4" --verbose \
      --reset-policy earliest --session-timeout 10000 --enable-autocommit --assignment-strategy "org.apache.kafka.clients.consumer.${assignor}Assignor" \
      "${instance[@]}" ;;
esac
