# Three static cooperative members restart one after another. Nobody else hears of it: the generation stays, the others'
# heartbeats are not disturbed, and who comes back finds what it had. The first to restart is the leader.
> join g - instance=a session=30000 protocols=cooperative-sticky:t
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1*(a) join#1
> join g - instance=b session=30000 protocols=cooperative-sticky:t
g PreparingRebalance gen 0 consumer m1*(a) join#1 m2(b) join#2
> join g - instance=c session=30000 protocols=cooperative-sticky:t
g PreparingRebalance gen 0 consumer m1*(a) join#1 m2(b) join#2 m3(c) join#3
> wait 0
#1 join generation 1 consumer/cooperative-sticky leader m1 as m1 [m1 a t] [m2 b t] [m3 c t]
#2 join generation 1 consumer/cooperative-sticky leader m1 as m2
#3 join generation 1 consumer/cooperative-sticky leader m1 as m3
g CompletingRebalance gen 1 consumer/cooperative-sticky m1*(a) m2(b) m3(c)
> sync g m2 1 instance=b protocol=cooperative-sticky
g CompletingRebalance gen 1 consumer/cooperative-sticky m1*(a) m2(b) sync#4 m3(c)
> sync g m3 1 instance=c protocol=cooperative-sticky
g CompletingRebalance gen 1 consumer/cooperative-sticky m1*(a) m2(b) sync#4 m3(c) sync#5
> sync g m1 1 instance=a protocol=cooperative-sticky assign=m1:t0,m2:t1,m3:t2
append g type=consumer generation=1 protocol=cooperative-sticky leader=m1 since=1000000 [m1 a c/h 30000/60000 t->t0] [m2 b c/h 30000/60000 t->t1] [m3 c c/h 30000/60000 t->t2]
#6 sync consumer/cooperative-sticky t0
#4 sync consumer/cooperative-sticky t1
#5 sync consumer/cooperative-sticky t2
g Stable gen 1 consumer/cooperative-sticky m1*(a)=t0 m2(b)=t1 m3(c)=t2
> join g - instance=a session=30000 protocols=cooperative-sticky:t
append g type=consumer generation=1 protocol=cooperative-sticky leader=m4 since=1000000 [m4 a c/h 30000/60000 t->t0] [m2 b c/h 30000/60000 t->t1] [m3 c c/h 30000/60000 t->t2]
#7 join generation 1 consumer/cooperative-sticky leader m4 as m4 skip [m4 a t] [m2 b t] [m3 c t]
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m2(b)=t1 m3(c)=t2
> sync g m4 1 instance=a protocol=cooperative-sticky
#8 sync consumer/cooperative-sticky t0
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m2(b)=t1 m3(c)=t2
> heartbeat g m2 1 instance=b
#9 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m2(b)=t1 m3(c)=t2
> heartbeat g m3 1 instance=c
#10 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m2(b)=t1 m3(c)=t2
> wait 20000
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m2(b)=t1 m3(c)=t2
> heartbeat g m4 1 instance=a
#11 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m2(b)=t1 m3(c)=t2
> heartbeat g m3 1 instance=c
#12 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m2(b)=t1 m3(c)=t2
# b comes back with what it owned still in its metadata, from before.
> join g - instance=b session=30000 protocols=cooperative-sticky:t-owns-1
append g type=consumer generation=1 protocol=cooperative-sticky leader=m4 since=1000000 [m4 a c/h 30000/60000 t->t0] [m5 b c/h 30000/60000 t-owns-1->t1] [m3 c c/h 30000/60000 t->t2]
#13 join generation 1 consumer/cooperative-sticky leader m4 as m5
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m3(c)=t2
> sync g m5 1 instance=b protocol=cooperative-sticky
#14 sync consumer/cooperative-sticky t1
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m3(c)=t2
> wait 20000
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m3(c)=t2
> heartbeat g m4 1 instance=a
#15 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m3(c)=t2
> heartbeat g m5 1 instance=b
#16 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m3(c)=t2
> join g - instance=c session=30000 protocols=cooperative-sticky:t
append g type=consumer generation=1 protocol=cooperative-sticky leader=m4 since=1000000 [m4 a c/h 30000/60000 t->t0] [m5 b c/h 30000/60000 t-owns-1->t1] [m6 c c/h 30000/60000 t->t2]
#17 join generation 1 consumer/cooperative-sticky leader m4 as m6
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m6(c)=t2
> sync g m6 1 instance=c protocol=cooperative-sticky
#18 sync consumer/cooperative-sticky t2
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m6(c)=t2
> heartbeat g m4 1 instance=a
#19 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m6(c)=t2
# The coordinator moves while a is away; its place is kept from the moment of loading.
> reload
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m6(c)=t2
> wait 29000
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m6(c)=t2
> heartbeat g m5 1 instance=b
#20 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m6(c)=t2
> heartbeat g m6 1 instance=c
#21 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m4*(a)=t0 m5(b)=t1 m6(c)=t2
> join g - instance=a session=30000 protocols=cooperative-sticky:t
append g type=consumer generation=1 protocol=cooperative-sticky leader=m7 since=1000000 [m7 a c/h 30000/60000 t->t0] [m5 b c/h 30000/60000 t-owns-1->t1] [m6 c c/h 30000/60000 t->t2]
#22 join generation 1 consumer/cooperative-sticky leader m7 as m7 skip [m7 a t] [m5 b t-owns-1] [m6 c t]
g Stable gen 1 consumer/cooperative-sticky m7*(a)=t0 m5(b)=t1 m6(c)=t2
> sync g m7 1 instance=a protocol=cooperative-sticky
#23 sync consumer/cooperative-sticky t0
g Stable gen 1 consumer/cooperative-sticky m7*(a)=t0 m5(b)=t1 m6(c)=t2
# A second process with the name of a: the first is fenced, whatever it asks.
> join g - instance=a session=30000 protocols=cooperative-sticky:t
append g type=consumer generation=1 protocol=cooperative-sticky leader=m8 since=1000000 [m8 a c/h 30000/60000 t->t0] [m5 b c/h 30000/60000 t-owns-1->t1] [m6 c c/h 30000/60000 t->t2]
#24 join generation 1 consumer/cooperative-sticky leader m8 as m8 skip [m8 a t] [m5 b t-owns-1] [m6 c t]
g Stable gen 1 consumer/cooperative-sticky m8*(a)=t0 m5(b)=t1 m6(c)=t2
> heartbeat g m7 1 instance=a
#25 heartbeat FENCED_INSTANCE_ID
g Stable gen 1 consumer/cooperative-sticky m8*(a)=t0 m5(b)=t1 m6(c)=t2
> commit g m7 1 t-0:5 instance=a
#26 commit FENCED_INSTANCE_ID
g Stable gen 1 consumer/cooperative-sticky m8*(a)=t0 m5(b)=t1 m6(c)=t2
> sync g m7 1 instance=a
#27 sync FENCED_INSTANCE_ID
g Stable gen 1 consumer/cooperative-sticky m8*(a)=t0 m5(b)=t1 m6(c)=t2
> leave g m7/a
#28 leave NONE: FENCED_INSTANCE_ID
g Stable gen 1 consumer/cooperative-sticky m8*(a)=t0 m5(b)=t1 m6(c)=t2
# Longer away than its session: one rebalance without b, and one when it is back.
> wait 20000
g Stable gen 1 consumer/cooperative-sticky m8*(a)=t0 m5(b)=t1 m6(c)=t2
> heartbeat g m8 1 instance=a
#29 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m8*(a)=t0 m5(b)=t1 m6(c)=t2
> heartbeat g m6 1 instance=c
#30 heartbeat NONE
g Stable gen 1 consumer/cooperative-sticky m8*(a)=t0 m5(b)=t1 m6(c)=t2
> wait 10000
g PreparingRebalance gen 1 consumer/cooperative-sticky m8*(a)=t0 m6(c)=t2
> heartbeat g m8 1 instance=a
#31 heartbeat REBALANCE_IN_PROGRESS
g PreparingRebalance gen 1 consumer/cooperative-sticky m8*(a)=t0 m6(c)=t2
> join g m8 instance=a session=30000 protocols=cooperative-sticky:t-owns-0
g PreparingRebalance gen 1 consumer/cooperative-sticky m8*(a) join#32=t0 m6(c)=t2
> join g m6 instance=c session=30000 protocols=cooperative-sticky:t-owns-2
#32 join generation 2 consumer/cooperative-sticky leader m8 as m8 [m8 a t-owns-0] [m6 c t-owns-2]
#33 join generation 2 consumer/cooperative-sticky leader m8 as m6
g CompletingRebalance gen 2 consumer/cooperative-sticky m8*(a)=t0 m6(c)=t2
> sync g m6 2 instance=c
g CompletingRebalance gen 2 consumer/cooperative-sticky m8*(a)=t0 m6(c) sync#34=t2
> sync g m8 2 instance=a assign=m8:t0+t1,m6:t2
append g type=consumer generation=2 protocol=cooperative-sticky leader=m8 since=1099000 [m8 a c/h 30000/60000 t-owns-0->t0+t1] [m6 c c/h 30000/60000 t-owns-2->t2]
#35 sync consumer/cooperative-sticky t0+t1
#34 sync consumer/cooperative-sticky t2
g Stable gen 2 consumer/cooperative-sticky m8*(a)=t0+t1 m6(c)=t2
> join g - instance=b session=30000 protocols=cooperative-sticky:t
g PreparingRebalance gen 2 consumer/cooperative-sticky m8*(a)=t0+t1 m9(b) join#36 m6(c)=t2
> join g m8 instance=a session=30000 protocols=cooperative-sticky:t-owns-0-1
g PreparingRebalance gen 2 consumer/cooperative-sticky m8*(a) join#37=t0+t1 m9(b) join#36 m6(c)=t2
> join g m6 instance=c session=30000 protocols=cooperative-sticky:t-owns-2
#37 join generation 3 consumer/cooperative-sticky leader m8 as m8 [m8 a t-owns-0-1] [m9 b t] [m6 c t-owns-2]
#36 join generation 3 consumer/cooperative-sticky leader m8 as m9
#38 join generation 3 consumer/cooperative-sticky leader m8 as m6
g CompletingRebalance gen 3 consumer/cooperative-sticky m8*(a)=t0+t1 m9(b) m6(c)=t2
