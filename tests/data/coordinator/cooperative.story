# Incremental rebalancing: who keeps a partition goes on with it while the others re-join, and commits for it under the
# old generation until its own Join is answered. What moves is revoked in one rebalance and given in the next.
> join g - v=3 protocols=cooperative-sticky:owns-none
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1* join#1
> wait 0
#1 join generation 1 consumer/cooperative-sticky leader m1 as m1 [m1 - owns-none]
g CompletingRebalance gen 1 consumer/cooperative-sticky m1*
> sync g m1 1 assign=m1:0+1+2+3
append g type=consumer generation=1 protocol=cooperative-sticky leader=m1 since=1000000 [m1 - c/h 10000/60000 owns-none->0+1+2+3]
#2 sync consumer/cooperative-sticky 0+1+2+3
g Stable gen 1 consumer/cooperative-sticky m1*=0+1+2+3
> join g - v=3 protocols=cooperative-sticky:owns-none
g PreparingRebalance gen 1 consumer/cooperative-sticky m1*=0+1+2+3 m2 join#3
> heartbeat g m1 1
#4 heartbeat REBALANCE_IN_PROGRESS
g PreparingRebalance gen 1 consumer/cooperative-sticky m1*=0+1+2+3 m2 join#3
> commit g m1 1 t-0:10 t-3:13
append g t-0@10:-1::1000000:-1:-
append g t-3@13:-1::1000000:-1:-
#5 commit NONE NONE
g PreparingRebalance gen 1 consumer/cooperative-sticky m1*=0+1+2+3 m2 join#3
> join g m1 protocols=cooperative-sticky:owns-0-1-2-3
#6 join generation 2 consumer/cooperative-sticky leader m1 as m1 [m1 - owns-0-1-2-3] [m2 - owns-none]
#3 join generation 2 consumer/cooperative-sticky leader m1 as m2
g CompletingRebalance gen 2 consumer/cooperative-sticky m1*=0+1+2+3 m2
# The group has not been told its assignment yet: no commit of the new generation, none of the old.
> commit g m1 2 t-0:11
#7 commit REBALANCE_IN_PROGRESS
g CompletingRebalance gen 2 consumer/cooperative-sticky m1*=0+1+2+3 m2
> commit g m1 1 t-0:11
#8 commit ILLEGAL_GENERATION
g CompletingRebalance gen 2 consumer/cooperative-sticky m1*=0+1+2+3 m2
> sync g m2 2
g CompletingRebalance gen 2 consumer/cooperative-sticky m1*=0+1+2+3 m2 sync#9
> sync g m1 2 assign=m1:0+1
append g type=consumer generation=2 protocol=cooperative-sticky leader=m1 since=1000000 [m1 - c/h 10000/60000 owns-0-1-2-3->0+1] [m2 - c/h 10000/60000 owns-none->]
#10 sync consumer/cooperative-sticky 0+1
#9 sync consumer/cooperative-sticky 
g Stable gen 2 consumer/cooperative-sticky m1*=0+1 m2
# m1 has given up 2 and 3 and says so at once, although it leads and nothing about the group has changed but that.
> commit g m1 2 t-2:12 t-3:14
append g t-2@12:-1::1000000:-1:-
append g t-3@14:-1::1000000:-1:-
#11 commit NONE NONE
g Stable gen 2 consumer/cooperative-sticky m1*=0+1 m2
> join g m1 protocols=cooperative-sticky:owns-0-1
g PreparingRebalance gen 2 consumer/cooperative-sticky m1* join#12=0+1 m2
> heartbeat g m2 2
#13 heartbeat REBALANCE_IN_PROGRESS
g PreparingRebalance gen 2 consumer/cooperative-sticky m1* join#12=0+1 m2
> commit g m1 2 t-0:15
append g t-0@15:-1::1000000:-1:-
#14 commit NONE
g PreparingRebalance gen 2 consumer/cooperative-sticky m1* join#12=0+1 m2
> join g m2 protocols=cooperative-sticky:owns-none
#12 join generation 3 consumer/cooperative-sticky leader m1 as m1 [m1 - owns-0-1] [m2 - owns-none]
#15 join generation 3 consumer/cooperative-sticky leader m1 as m2
g CompletingRebalance gen 3 consumer/cooperative-sticky m1*=0+1 m2
> sync g m1 3 assign=m1:0+1,m2:2+3
append g type=consumer generation=3 protocol=cooperative-sticky leader=m1 since=1000000 [m1 - c/h 10000/60000 owns-0-1->0+1] [m2 - c/h 10000/60000 owns-none->2+3]
#16 sync consumer/cooperative-sticky 0+1
g Stable gen 3 consumer/cooperative-sticky m1*=0+1 m2=2+3
> sync g m2 3
#17 sync consumer/cooperative-sticky 2+3
g Stable gen 3 consumer/cooperative-sticky m1*=0+1 m2=2+3
> fetch g t-0 t-2 t-3
#18 fetch NONE t-0:15 t-2:12 t-3:14
g Stable gen 3 consumer/cooperative-sticky m1*=0+1 m2=2+3
# One that does not lead gives something up: its changed metadata alone makes the rebalance.
> join g m2 protocols=cooperative-sticky:owns-2
g PreparingRebalance gen 3 consumer/cooperative-sticky m1*=0+1 m2 join#19=2+3
> heartbeat g m1 3
#20 heartbeat REBALANCE_IN_PROGRESS
g PreparingRebalance gen 3 consumer/cooperative-sticky m1*=0+1 m2 join#19=2+3
> join g m1 protocols=cooperative-sticky:owns-0-1
#21 join generation 4 consumer/cooperative-sticky leader m1 as m1 [m1 - owns-0-1] [m2 - owns-2]
#19 join generation 4 consumer/cooperative-sticky leader m1 as m2
g CompletingRebalance gen 4 consumer/cooperative-sticky m1*=0+1 m2=2+3
# Unchanged metadata of one that does not lead makes none: it lost our answer.
> sync g m1 4 assign=m1:0+1+3,m2:2
append g type=consumer generation=4 protocol=cooperative-sticky leader=m1 since=1000000 [m1 - c/h 10000/60000 owns-0-1->0+1+3] [m2 - c/h 10000/60000 owns-2->2]
#22 sync consumer/cooperative-sticky 0+1+3
g Stable gen 4 consumer/cooperative-sticky m1*=0+1+3 m2=2
> sync g m2 4
#23 sync consumer/cooperative-sticky 2
g Stable gen 4 consumer/cooperative-sticky m1*=0+1+3 m2=2
> join g m2 protocols=cooperative-sticky:owns-2
#24 join generation 4 consumer/cooperative-sticky leader m1 as m2
g Stable gen 4 consumer/cooperative-sticky m1*=0+1+3 m2=2
> heartbeat g m1 4
#25 heartbeat NONE
g Stable gen 4 consumer/cooperative-sticky m1*=0+1+3 m2=2
