# A member that is silent for its session is out; one whose Join or Sync waits is not, however long.
> join g - v=3 session=10000 rebalance=60000
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1* join#1
> wait 0
#1 join generation 1 consumer/range leader m1 as m1 [m1 - a]
g CompletingRebalance gen 1 consumer/range m1*
> sync g m1 1 assign=m1:a
append g type=consumer generation=1 protocol=range leader=m1 since=1000000 [m1 - c/h 10000/60000 a->a]
#2 sync consumer/range a
g Stable gen 1 consumer/range m1*=a
> wait 9999
g Stable gen 1 consumer/range m1*=a
> heartbeat g m1 1
#3 heartbeat NONE
g Stable gen 1 consumer/range m1*=a
> wait 9999
g Stable gen 1 consumer/range m1*=a
> join g - v=3 session=10000 rebalance=60000
g PreparingRebalance gen 1 consumer/range m1*=a m2 join#4
# m1 does not re-join and heartbeats no more: out after its session. m2, whose Join waits, is not.
> wait 10000
#4 join generation 2 consumer/range leader m2 as m2 [m2 - a]
g CompletingRebalance gen 2 consumer/range m2*
> sync g m2 2 assign=m2:x
append g type=consumer generation=2 protocol=range leader=m2 since=1019999 [m2 - c/h 10000/60000 a->x]
#5 sync consumer/range x
g Stable gen 2 consumer/range m2*=x
> join g - v=3 session=10000 rebalance=60000
g PreparingRebalance gen 2 consumer/range m2*=x m3 join#6
> join g m2 rebalance=60000
#7 join generation 3 consumer/range leader m2 as m2 [m2 - a] [m3 - a]
#6 join generation 3 consumer/range leader m2 as m3
g CompletingRebalance gen 3 consumer/range m2*=x m3
> wait 5000
g CompletingRebalance gen 3 consumer/range m2*=x m3
> sync g m3 3
g CompletingRebalance gen 3 consumer/range m2*=x m3 sync#8
> heartbeat g m2 3
#9 heartbeat NONE
g CompletingRebalance gen 3 consumer/range m2*=x m3 sync#8
> wait 9000
g CompletingRebalance gen 3 consumer/range m2*=x m3 sync#8
> heartbeat g m2 3
#10 heartbeat NONE
g CompletingRebalance gen 3 consumer/range m2*=x m3 sync#8
# m3's Sync waits for the leader, past m3's session.
> wait 9000
g CompletingRebalance gen 3 consumer/range m2*=x m3 sync#8
> sync g m2 3 assign=m2:y,m3:z
append g type=consumer generation=3 protocol=range leader=m2 since=1029998 [m2 - c/h 10000/60000 a->y] [m3 - c/h 10000/60000 a->z]
#11 sync consumer/range y
#8 sync consumer/range z
g Stable gen 3 consumer/range m2*=y m3=z
> heartbeat g m3 3
#12 heartbeat NONE
g Stable gen 3 consumer/range m2*=y m3=z
> wait 10000
append g type=consumer generation=4 protocol=- leader=- since=1062998
g Empty gen 4 consumer
# Who heartbeats but does not re-join is out after the rebalance timeout; heartbeats keep the session only.
> join h - v=3 session=30000 rebalance=10000
append h type= generation=0 protocol=- leader=- since=1062998
g Empty gen 4 consumer
h PreparingRebalance gen 0 consumer m4* join#13
> wait 0
#13 join generation 1 consumer/range leader m4 as m4 [m4 - a]
g Empty gen 4 consumer
h CompletingRebalance gen 1 consumer/range m4*
> sync h m4 1 assign=m4:a
append h type=consumer generation=1 protocol=range leader=m4 since=1062998 [m4 - c/h 30000/10000 a->a]
#14 sync consumer/range a
g Empty gen 4 consumer
h Stable gen 1 consumer/range m4*=a
> join h - v=3 session=30000 rebalance=10000
g Empty gen 4 consumer
h PreparingRebalance gen 1 consumer/range m4*=a m5 join#15
> wait 9000
g Empty gen 4 consumer
h PreparingRebalance gen 1 consumer/range m4*=a m5 join#15
> heartbeat h m4 1
#16 heartbeat REBALANCE_IN_PROGRESS
g Empty gen 4 consumer
h PreparingRebalance gen 1 consumer/range m4*=a m5 join#15
> wait 999
g Empty gen 4 consumer
h PreparingRebalance gen 1 consumer/range m4*=a m5 join#15
> wait 1
#15 join generation 2 consumer/range leader m5 as m5 [m5 - a]
g Empty gen 4 consumer
h CompletingRebalance gen 2 consumer/range m5*
# Who joins but never syncs is out after the rebalance timeout of the Join's answer.
> sync h m5 2 assign=m5:b
append h type=consumer generation=2 protocol=range leader=m5 since=1072998 [m5 - c/h 30000/10000 a->b]
#17 sync consumer/range b
g Empty gen 4 consumer
h Stable gen 2 consumer/range m5*=b
> join h - v=3 session=30000 rebalance=10000
g Empty gen 4 consumer
h PreparingRebalance gen 2 consumer/range m5*=b m6 join#18
> join h m5 session=30000 rebalance=10000
#19 join generation 3 consumer/range leader m5 as m5 [m5 - a] [m6 - a]
#18 join generation 3 consumer/range leader m5 as m6
g Empty gen 4 consumer
h CompletingRebalance gen 3 consumer/range m5*=b m6
> sync h m5 3 assign=m5:c,m6:d
append h type=consumer generation=3 protocol=range leader=m5 since=1072998 [m5 - c/h 30000/10000 a->c] [m6 - c/h 30000/10000 a->d]
#20 sync consumer/range c
g Empty gen 4 consumer
h Stable gen 3 consumer/range m5*=c m6=d
> wait 9000
g Empty gen 4 consumer
h Stable gen 3 consumer/range m5*=c m6=d
> heartbeat h m6 3
#21 heartbeat NONE
g Empty gen 4 consumer
h Stable gen 3 consumer/range m5*=c m6=d
> wait 1000
g Empty gen 4 consumer
h PreparingRebalance gen 3 consumer/range m5*=c
> heartbeat h m6 3
#22 heartbeat UNKNOWN_MEMBER_ID
g Empty gen 4 consumer
h PreparingRebalance gen 3 consumer/range m5*=c
# A first Join waits no more than five minutes.
> join q - v=3 session=600000 rebalance=1800000
append q type= generation=0 protocol=- leader=- since=1082998
g Empty gen 4 consumer
h PreparingRebalance gen 3 consumer/range m5*=c
q PreparingRebalance gen 0 consumer m7* join#23
> wait 0
#23 join generation 1 consumer/range leader m7 as m7 [m7 - a]
g Empty gen 4 consumer
h PreparingRebalance gen 3 consumer/range m5*=c
q CompletingRebalance gen 1 consumer/range m7*
> sync q m7 1 assign=m7:a
append q type=consumer generation=1 protocol=range leader=m7 since=1082998 [m7 - c/h 600000/1800000 a->a]
#24 sync consumer/range a
g Empty gen 4 consumer
h PreparingRebalance gen 3 consumer/range m5*=c
q Stable gen 1 consumer/range m7*=a
> join q - v=3 session=600000 rebalance=1800000
g Empty gen 4 consumer
h PreparingRebalance gen 3 consumer/range m5*=c
q PreparingRebalance gen 1 consumer/range m7*=a m8 join#25
> wait 299999
append h type=consumer generation=4 protocol=- leader=- since=1092998
g Empty gen 4 consumer
h Empty gen 4 consumer
q PreparingRebalance gen 1 consumer/range m7*=a m8 join#25
> wait 1
#25 join UNKNOWN_MEMBER_ID as -
g Empty gen 4 consumer
h Empty gen 4 consumer
q PreparingRebalance gen 1 consumer/range m7*=a
