# A refused append changed nothing; a refused Sync rebalances; a timer's decision comes again.
> hold
> join g - v=3
append g type= generation=0 protocol=- leader=- since=1000000
> refuse NOT_ENOUGH_REPLICAS
#1 join COORDINATOR_NOT_AVAILABLE as -
> join g - v=3
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m2* join#2
> wait 0
#2 join generation 1 consumer/range leader m2 as m2 [m2 - a]
g CompletingRebalance gen 1 consumer/range m2*
> hold
g CompletingRebalance gen 1 consumer/range m2*
> sync g m2 1 assign=m2:a
append g type=consumer generation=1 protocol=range leader=m2 since=1000000 [m2 - c/h 10000/60000 a->a]
g CompletingRebalance gen 1 consumer/range m2* sync#3
> refuse NOT_LEADER_OR_FOLLOWER
#3 sync NOT_COORDINATOR
g PreparingRebalance gen 1 consumer/range m2*
> join g m2
#4 join generation 2 consumer/range leader m2 as m2 [m2 - a]
g CompletingRebalance gen 2 consumer/range m2*
> sync g m2 2 assign=m2:b
append g type=consumer generation=2 protocol=range leader=m2 since=1000000 [m2 - c/h 10000/60000 a->b]
#5 sync consumer/range b
g Stable gen 2 consumer/range m2*=b
> hold
g Stable gen 2 consumer/range m2*=b
> commit g m2 2 t-0:1
append g t-0@1:-1::1000000:-1:-
g Stable gen 2 consumer/range m2*=b
> refuse MESSAGE_TOO_LARGE
#6 commit UNKNOWN_SERVER_ERROR
g Stable gen 2 consumer/range m2*=b
> fetch g t-0
#7 fetch NONE t-0:-1
g Stable gen 2 consumer/range m2*=b
> hold
g Stable gen 2 consumer/range m2*=b
> leave g m2 nobody
append g type=consumer generation=3 protocol=- leader=- since=1000000
g Stable gen 2 consumer/range m2*=b
> refuse KAFKA_STORAGE_ERROR
#8 leave NOT_COORDINATOR:
g Stable gen 2 consumer/range m2*=b
> hold
g Stable gen 2 consumer/range m2*=b
> wait 10000
append g type=consumer generation=3 protocol=- leader=- since=1010000
g Stable gen 2 consumer/range m2*=b
> refuse REQUEST_TIMED_OUT
g Stable gen 2 consumer/range m2*=b
> wait 499
g Stable gen 2 consumer/range m2*=b
> hold
g Stable gen 2 consumer/range m2*=b
> wait 1
append g type=consumer generation=3 protocol=- leader=- since=1010500
g Stable gen 2 consumer/range m2*=b
> accept
g Empty gen 3 consumer
> hold
g Empty gen 3 consumer
> delete g
append no group g
g Empty gen 3 consumer
> refuse NOT_ENOUGH_REPLICAS
#9 delete COORDINATOR_NOT_AVAILABLE
g Empty gen 3 consumer
> join s - instance=i v=9
append s type= generation=0 protocol=- leader=- since=1010500
g Empty gen 3 consumer
s PreparingRebalance gen 0 consumer m3*(i) join#10
> wait 0
#10 join generation 1 consumer/range leader m3 as m3 [m3 i a]
g Empty gen 3 consumer
s CompletingRebalance gen 1 consumer/range m3*(i)
> sync s m3 1 instance=i assign=m3:q
append s type=consumer generation=1 protocol=range leader=m3 since=1010500 [m3 i c/h 10000/60000 a->q]
#11 sync consumer/range q
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
> hold
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
> join s - instance=i
append s type=consumer generation=1 protocol=range leader=m4 since=1010500 [m4 i c/h 10000/60000 a->q]
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
> refuse NOT_ENOUGH_REPLICAS
#12 join COORDINATOR_NOT_AVAILABLE as -
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
> heartbeat s m3 1 instance=i
#13 heartbeat NONE
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
> hold
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
> commit s m3 1 t-0:5 instance=i
append s t-0@5:-1::1010500:-1:-
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
> resign
#14 commit NOT_COORDINATOR
> heartbeat s m3 1 instance=i
#16 heartbeat NOT_COORDINATOR
> load
> heartbeat s m3 1 instance=i
#18 heartbeat COORDINATOR_LOAD_IN_PROGRESS
> fetch s
#19 fetch COORDINATOR_LOAD_IN_PROGRESS
> list
#20 list COORDINATOR_LOAD_IN_PROGRESS
> reload
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
> heartbeat s m3 1 instance=i
#21 heartbeat NONE
g Empty gen 3 consumer
s Stable gen 1 consumer/range m3*(i)=q
# Who waits when leadership ends is sent to the new coordinator.
> join s - v=3
g Empty gen 3 consumer
s PreparingRebalance gen 1 consumer/range m5 join#22 m3*(i)=q
> resign
#22 join NOT_COORDINATOR as m5
