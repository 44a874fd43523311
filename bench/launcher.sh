#!/usr/bin/env bash
# Starts and stops millrace as a measuring program or a test wants it.
#
#   launcher.sh start [N]        start N nodes (default 1), wait until ready
#   launcher.sh start-node ID    start one node again (does not wait for the others)
#   launcher.sh stop             SIGTERM to all, wait
#   launcher.sh kill ID          kill -9 one node
#   launcher.sh wipe             stop (kill -9 after 30 s) and remove the data
#   launcher.sh status           the JSON again
# start, start-node and status print one line of JSON:
#   {"bootstrap": "...", "tls": "", "ca": "", "ready_s": 0.05, "nodes": {"1": {"pid": 1, "addr": "127.0.0.1:19000", "dir": "..."}}}
# Environment: NAME (run name, default m), PORT_BASE (19000; node i uses +10*(i-1): plain, +2 controller, +4 admin), HOST (127.0.0.1),
#   DATA (folder for the data, default results/run/NAME), EXTRA (extra properties, ';'-separated), CPUS (taskset list),
#   MILLRACE (the binary, default build/release/millrace), READY_TOPIC (ready only when this topic's partitions are led).
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
NAME=${NAME:-m} PORT_BASE=${PORT_BASE:-19000} HOST=${HOST:-127.0.0.1}
MILLRACE=${MILLRACE:-$HERE/../build/release/millrace}
RUN=${DATA:-$HERE/../results/run/$NAME}
mkdir -p "$RUN"
RUN=$(cd "$RUN" && pwd)

port() { echo $((PORT_BASE + 10 * ($1 - 1) + $2)); }

config() {  # ID N
  local id=$1 count=$2 folder=$RUN/$1 voters='' i factor
  factor=$((count < 3 ? count : 3))
  mkdir -p "$folder"
  for ((i = 1; i <= count; i++)); do voters+="${voters:+,}$i@$HOST:$(port $i 2)"; done
  {
    echo "process.roles=broker,controller"
    echo "node.id=$id"
    echo "controller.quorum.voters=$voters"
    echo "controller.listener.names=CONTROLLER"
    echo "listeners=PLAINTEXT://$HOST:$(port "$id" 0),CONTROLLER://$HOST:$(port "$id" 2)"
    echo "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT"
    [ "$count" = 1 ] || echo "millrace.cluster.id=bGF1bmNoZWQtY2x1c3Rlcg"
    echo "millrace.admin.listener=$HOST:$(port "$id" 4)"
    echo "log.dirs=$folder/data"
    echo "offsets.topic.replication.factor=$factor"
    echo "transaction.state.log.replication.factor=$factor"
    echo "transaction.state.log.min.isr=$((factor > 1 ? 2 : 1))"
    if [ -n "${EXTRA:-}" ]; then tr ';' '\n' <<< "$EXTRA"; fi
  } > "$folder/server.properties"
}

launch() {  # ID
  local folder=$RUN/$1 pin=()
  [ -n "${CPUS:-}" ] && pin=(taskset -c "$CPUS")
  (cd "$folder" && exec setsid "${pin[@]}" "$MILLRACE" serve --config "$folder/server.properties" \
    >> "$folder/server.log" 2>&1 < /dev/null) &
  echo $! > "$folder/pid"
}

alive() {  # ID: running, not a zombie
  local pid
  pid=$(cat "$RUN/$1/pid" 2> /dev/null) && [ -r "/proc/$pid/stat" ] && ! grep -q ') Z ' "/proc/$pid/stat" 2> /dev/null
}
nodes() { cat "$RUN/nodes" 2> /dev/null || echo 0; }

wait_ready() {  # ID SINCE BROKERS
  python3 "$HERE/wait_ready.py" "$HOST:$(port "$1" 0)" --since "$2" --brokers "$3" --pid "$(cat "$RUN/$1/pid")" \
    ${READY_TOPIC:+--topic "$READY_TOPIC"} || { tail -5 "$RUN/$1/server.log" >&2; exit 1; }
}

status() {  # [READY_S]
  local i bootstrap='' list='' count
  count=$(nodes)
  for ((i = 1; i <= count; i++)); do
    bootstrap+="${bootstrap:+,}$HOST:$(port $i 0)"
    list+="${list:+, }\"$i\": {\"pid\": $(alive $i && cat "$RUN/$i/pid" || echo null), \"addr\": \"$HOST:$(port $i 0)\", "
    list+="\"dir\": \"$RUN/$i/data\"}"
  done
  echo "{\"bootstrap\": \"$bootstrap\", \"tls\": \"\", \"ca\": \"\", \"ready_s\": ${1:-null}, \"nodes\": {$list}}"
}

stop_all() {
  local i turn up count
  count=$(nodes)
  for ((i = 1; i <= count; i++)); do if alive $i; then kill -TERM "$(cat "$RUN/$i/pid")"; fi; done
  for ((turn = 0; turn < 300; turn++)); do
    up=0
    for ((i = 1; i <= count; i++)); do if alive $i; then up=1; fi; done
    [ $up = 1 ] || return 0
    sleep 0.1
  done
  for ((i = 1; i <= count; i++)); do if alive $i; then kill -KILL "$(cat "$RUN/$i/pid")"; fi; done
  sleep 0.5
}

case "${1:-}" in
  start)
    count=${2:-$(nodes)}
    [ "$count" -gt 0 ] || count=1
    for ((i = 1; i <= count; i++)); do config $i "$count"; done
    echo "$count" > "$RUN/nodes"
    begin=$(date +%s.%N)
    for ((i = 1; i <= count; i++)); do alive $i || launch $i; done
    ready=$(wait_ready 1 "$begin" "$count")
    status "$ready" ;;
  start-node)
    begin=$(date +%s.%N)
    launch "$2"
    ready=$(wait_ready "$2" "$begin" 1)
    status "$ready" ;;
  stop) stop_all ;;
  kill)
    kill -KILL "$(cat "$RUN/$2/pid")"
    while alive "$2"; do sleep 0.01; done ;;
  wipe)
    stop_all
    rm -rf "$RUN" ;;
  status) status ;;
  *)
    sed -n '2,17p' "${BASH_SOURCE[0]}"
    exit 2 ;;
esac
