# A second member makes the first re-join; the leader assigns; a follower that asks again gets the same answer.
> join g - v=3
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1* join#1
> wait 0
#1 join generation 1 consumer/range leader m1 as m1 [m1 - a]
g CompletingRebalance gen 1 consumer/range m1*
> sync g m1 1 assign=m1:ab
append g type=consumer generation=1 protocol=range leader=m1 since=1000000 [m1 - c/h 10000/60000 a->ab]
#2 sync consumer/range ab
g Stable gen 1 consumer/range m1*=ab
> join g - v=3
g PreparingRebalance gen 1 consumer/range m1*=ab m2 join#3
> heartbeat g m1 1
#4 heartbeat REBALANCE_IN_PROGRESS
g PreparingRebalance gen 1 consumer/range m1*=ab m2 join#3
> commit g m1 1 t-0:7
append g t-0@7:-1::1000000:-1:-
#5 commit NONE
g PreparingRebalance gen 1 consumer/range m1*=ab m2 join#3
> describe g
#6 describe NONE PreparingRebalance type=consumer protocol= [m1 - c/h ->ab] [m2 - c/h ->]
g PreparingRebalance gen 1 consumer/range m1*=ab m2 join#3
> sync g m1 1
#7 sync REBALANCE_IN_PROGRESS
g PreparingRebalance gen 1 consumer/range m1*=ab m2 join#3
> join g m1
#8 join generation 2 consumer/range leader m1 as m1 [m1 - a] [m2 - a]
#3 join generation 2 consumer/range leader m1 as m2
g CompletingRebalance gen 2 consumer/range m1*=ab m2
> heartbeat g m2 2
#9 heartbeat NONE
g CompletingRebalance gen 2 consumer/range m1*=ab m2
> commit g m1 2 t-0:8
#10 commit REBALANCE_IN_PROGRESS
g CompletingRebalance gen 2 consumer/range m1*=ab m2
> sync g m2 2
g CompletingRebalance gen 2 consumer/range m1*=ab m2 sync#11
> sync g m1 1 assign=m1:x
#12 sync ILLEGAL_GENERATION
g CompletingRebalance gen 2 consumer/range m1*=ab m2 sync#11
> sync g m1 2 assign=m1:a,m2:b,m9:c
append g type=consumer generation=2 protocol=range leader=m1 since=1000000 [m1 - c/h 10000/60000 a->a] [m2 - c/h 10000/60000 a->b]
#13 sync consumer/range a
#11 sync consumer/range b
g Stable gen 2 consumer/range m1*=a m2=b
> commit g m1 2 t-0:8
append g t-0@8:-1::1000000:-1:-
#14 commit NONE
g Stable gen 2 consumer/range m1*=a m2=b
# A follower with the same metadata is only told; with other metadata (cooperative: other owned partitions) all rejoin.
> join g m2
#15 join generation 2 consumer/range leader m1 as m2
g Stable gen 2 consumer/range m1*=a m2=b
> join g m2 protocols=range:a2
g PreparingRebalance gen 2 consumer/range m1*=a m2 join#16=b
> heartbeat g m1 2
#17 heartbeat REBALANCE_IN_PROGRESS
g PreparingRebalance gen 2 consumer/range m1*=a m2 join#16=b
> join g m1
#18 join generation 3 consumer/range leader m1 as m1 [m1 - a] [m2 - a2]
#16 join generation 3 consumer/range leader m1 as m2
g CompletingRebalance gen 3 consumer/range m1*=a m2=b
> sync g m1 3 assign=m1:a
append g type=consumer generation=3 protocol=range leader=m1 since=1000000 [m1 - c/h 10000/60000 a->a] [m2 - c/h 10000/60000 a2->]
#19 sync consumer/range a
g Stable gen 3 consumer/range m1*=a m2
> sync g m2 3
#20 sync consumer/range 
g Stable gen 3 consumer/range m1*=a m2
# A leader that joins a stable group starts a rebalance.
> join g m1
g PreparingRebalance gen 3 consumer/range m1* join#21=a m2
> join g m2 protocols=range:a2
#21 join generation 4 consumer/range leader m1 as m1 [m1 - a] [m2 - a2]
#22 join generation 4 consumer/range leader m1 as m2
g CompletingRebalance gen 4 consumer/range m1*=a m2
# Both lost the answer and join again while it completes: the same generation.
> join g m2 protocols=range:a2
#23 join generation 4 consumer/range leader m1 as m2
g CompletingRebalance gen 4 consumer/range m1*=a m2
> join g m1
#24 join generation 4 consumer/range leader m1 as m1 [m1 - a] [m2 - a2]
g CompletingRebalance gen 4 consumer/range m1*=a m2
> leave g m2
#25 leave NONE: NONE
g PreparingRebalance gen 4 consumer/range m1*
> heartbeat g m1 4
#26 heartbeat REBALANCE_IN_PROGRESS
g PreparingRebalance gen 4 consumer/range m1*
> join g m1
#27 join generation 5 consumer/range leader m1 as m1 [m1 - a]
g CompletingRebalance gen 5 consumer/range m1*
> reload
g Stable gen 3 consumer/range m1*=a m2
