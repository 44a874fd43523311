#!/usr/bin/env bash
# kcat as a client of e2e.py. Its headers are the same for all records; topics are made on first use.
#   kcat.sh create BOOTSTRAP TOPIC PARTITIONS | write BOOTSTRAP TOPIC PARTITIONS CODEC DATASET | read BOOTSTRAP TOPIC PARTITIONS COUNT OUT
#   kcat.sh group BOOTSTRAP TOPIC GROUP ASSIGNOR INSTANCE LEAVES_AFTER (so many records; 0: on SIGTERM)
set -euo pipefail
verb=$1 bootstrap=$2 topic=$3 partitions=$4
case $verb in
  create)
    answer=$(mktemp)
    trap 'rm -f "$answer"' EXIT
    for ((turn = 0; turn < 50; turn++)); do
      # The first question makes the topic, a later one finds it led.
      kcat -b "$bootstrap" -L -t "$topic" -X allow.auto.create.topics=true -J > "$answer" || true
      led=$(python3 -c 'import json, sys
topics = json.load(open(sys.argv[1]))["topics"]
print(sum(p["leader"] >= 0 and "error" not in p for p in topics[0]["partitions"]) if topics else 0)' "$answer" || echo 0)
      [ "$led" = "$partitions" ] && exit 0
      sleep 0.1
    done
    echo "$topic has $led partitions"
    exit 1 ;;
  write)
    for ((partition = 0; partition < partitions; partition++)); do
      awk -F '\t' -v n="$partitions" -v p="$partition" '(NR - 1) % n == p {print $1 "\t" $3}' "$6" |
        kcat -b "$bootstrap" -P -t "$topic" -p "$partition" -K $'\t' -Z -z "$5" -H source=apt -H none \
          -X acks=all -X enable.idempotence=true
    done ;;
  read)
    kcat -b "$bootstrap" -C -t "$topic" -o beginning -e -q -f '%p|%o|%K|%k|%h|%S|%s\n' > "$6" ;;
  group)
    more=()
    [ "$6" = - ] || more+=(-X "group.instance.id=$6")
    [ "$7" = 0 ] || more+=(-c "$7")
    exec kcat -b "$bootstrap" -G "$4" -q -u -E -X auto.offset.reset=earliest -X "partition.assignment.strategy=$5" \
      -X session.timeout.ms=10000 -X heartbeat.interval.ms=500 "${more[@]}" -f '%p|%o|%s\n' "$topic" ;;
esac
