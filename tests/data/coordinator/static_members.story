# A static member comes back under a new id without a rebalance; the old id is fenced.
> join g - instance=i1
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1*(i1) join#1
> wait 0
#1 join generation 1 consumer/range leader m1 as m1 [m1 i1 a]
g CompletingRebalance gen 1 consumer/range m1*(i1)
> sync g m1 1 instance=i1 assign=m1:A
append g type=consumer generation=1 protocol=range leader=m1 since=1000000 [m1 i1 c/h 10000/60000 a->A]
#2 sync consumer/range A
g Stable gen 1 consumer/range m1*(i1)=A
> join g - instance=i1
append g type=consumer generation=1 protocol=range leader=m2 since=1000000 [m2 i1 c/h 10000/60000 a->A]
#3 join generation 1 consumer/range leader m2 as m2 skip [m2 i1 a]
g Stable gen 1 consumer/range m2*(i1)=A
> heartbeat g m1 1 instance=i1
#4 heartbeat FENCED_INSTANCE_ID
g Stable gen 1 consumer/range m2*(i1)=A
> heartbeat g m2 1 instance=i1
#5 heartbeat NONE
g Stable gen 1 consumer/range m2*(i1)=A
> heartbeat g m2 1 instance=i9
#6 heartbeat UNKNOWN_MEMBER_ID
g Stable gen 1 consumer/range m2*(i1)=A
> join g m1 instance=i1
#7 join FENCED_INSTANCE_ID as m1
g Stable gen 1 consumer/range m2*(i1)=A
> commit g m1 1 t-0:3 instance=i1
#8 commit FENCED_INSTANCE_ID
g Stable gen 1 consumer/range m2*(i1)=A
> commit g m2 1 t-0:3 instance=i1
append g t-0@3:-1::1000000:-1:-
#9 commit NONE
g Stable gen 1 consumer/range m2*(i1)=A
> describe g
#10 describe NONE Stable type=consumer protocol=range [m2 i1 c/h a->A]
g Stable gen 1 consumer/range m2*(i1)=A
> reload
g Stable gen 1 consumer/range m2*(i1)=A
# An older client must not take itself for the leader.
> join g - instance=i1 v=8
append g type=consumer generation=1 protocol=range leader=m3 since=1000000 [m3 i1 c/h 10000/60000 a->A]
#11 join generation 1 consumer/range leader m2 as m3
g Stable gen 1 consumer/range m3*(i1)=A
> leave g -/i9 m1/i1 -/i1
append g type=consumer generation=2 protocol=- leader=- since=1000000
#12 leave NONE: UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID NONE
g Empty gen 2 consumer
# Two static members; one comes back while the other's rebalance runs, and while the assignment is awaited.
> join h - instance=a
append h type= generation=0 protocol=- leader=- since=1000000
g Empty gen 2 consumer
h PreparingRebalance gen 0 consumer m4*(a) join#13
> wait 0
#13 join generation 1 consumer/range leader m4 as m4 [m4 a a]
g Empty gen 2 consumer
h CompletingRebalance gen 1 consumer/range m4*(a)
> sync h m4 1 instance=a assign=m4:A
append h type=consumer generation=1 protocol=range leader=m4 since=1000000 [m4 a c/h 10000/60000 a->A]
#14 sync consumer/range A
g Empty gen 2 consumer
h Stable gen 1 consumer/range m4*(a)=A
> join h - instance=b
g Empty gen 2 consumer
h PreparingRebalance gen 1 consumer/range m4*(a)=A m5(b) join#15
> join h m4 instance=a
#16 join generation 2 consumer/range leader m4 as m4 [m4 a a] [m5 b a]
#15 join generation 2 consumer/range leader m4 as m5
g Empty gen 2 consumer
h CompletingRebalance gen 2 consumer/range m4*(a)=A m5(b)
> sync h m5 2 instance=b
g Empty gen 2 consumer
h CompletingRebalance gen 2 consumer/range m4*(a)=A m5(b) sync#17
> join h - instance=b
#17 sync FENCED_INSTANCE_ID
g Empty gen 2 consumer
h PreparingRebalance gen 2 consumer/range m4*(a) m6(b) join#18
> join h m4 instance=a
#19 join generation 3 consumer/range leader m4 as m4 [m4 a a] [m6 b a]
#18 join generation 3 consumer/range leader m4 as m6
g Empty gen 2 consumer
h CompletingRebalance gen 3 consumer/range m4*(a) m6(b)
> sync h m4 3 instance=a assign=m4:A,m6:B
append h type=consumer generation=3 protocol=range leader=m4 since=1000000 [m4 a c/h 10000/60000 a->A] [m6 b c/h 10000/60000 a->B]
#20 sync consumer/range A
g Empty gen 2 consumer
h Stable gen 3 consumer/range m4*(a)=A m6(b)=B
> sync h m6 3 instance=b
#21 sync consumer/range B
g Empty gen 2 consumer
h Stable gen 3 consumer/range m4*(a)=A m6(b)=B
> join h - instance=b
append h type=consumer generation=3 protocol=range leader=m4 since=1000000 [m4 a c/h 10000/60000 a->A] [m7 b c/h 10000/60000 a->B]
#22 join generation 3 consumer/range leader m4 as m7
g Empty gen 2 consumer
h Stable gen 3 consumer/range m4*(a)=A m7(b)=B
# The same instance twice, the first still waiting: the first is fenced.
> join h m4 instance=a
g Empty gen 2 consumer
h PreparingRebalance gen 3 consumer/range m4*(a) join#23=A m7(b)=B
> join h - instance=a
#23 join FENCED_INSTANCE_ID as m4
g Empty gen 2 consumer
h PreparingRebalance gen 3 consumer/range m8*(a) join#24=A m7(b)=B
> join h m7 instance=b
#24 join generation 4 consumer/range leader m8 as m8 [m8 a a] [m7 b a]
#25 join generation 4 consumer/range leader m8 as m7
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
# With a new protocol selection everybody rebalances.
> join k - instance=x protocols=range:1
append k type= generation=0 protocol=- leader=- since=1000000
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k PreparingRebalance gen 0 consumer m9*(x) join#26
> wait 0
#26 join generation 1 consumer/range leader m9 as m9 [m9 x 1]
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 1 consumer/range m9*(x)
> sync k m9 1 instance=x assign=m9:A
append k type=consumer generation=1 protocol=range leader=m9 since=1000000 [m9 x c/h 10000/60000 1->A]
#27 sync consumer/range A
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k Stable gen 1 consumer/range m9*(x)=A
> join k - instance=x protocols=sticky:1
#28 join INCONSISTENT_GROUP_PROTOCOL as -
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k Stable gen 1 consumer/range m9*(x)=A
> join k - instance=x protocols=sticky:1,range:2
#29 join generation 2 consumer/sticky leader m11 as m11 [m11 x 1]
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
# A static member that does not re-join in time stays and keeps its turn to sync; then it is out.
> join s - instance=a session=30000 rebalance=5000
append s type= generation=0 protocol=- leader=- since=1000000
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
s PreparingRebalance gen 0 consumer m12*(a) join#30
> wait 0
#30 join generation 1 consumer/range leader m12 as m12 [m12 a a]
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
s CompletingRebalance gen 1 consumer/range m12*(a)
> sync s m12 1 instance=a assign=m12:A
append s type=consumer generation=1 protocol=range leader=m12 since=1000000 [m12 a c/h 30000/5000 a->A]
#31 sync consumer/range A
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
s Stable gen 1 consumer/range m12*(a)=A
> join s - instance=b session=30000 rebalance=5000
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
s PreparingRebalance gen 1 consumer/range m12*(a)=A m13(b) join#32
> wait 5000
#32 join generation 2 consumer/range leader m13 as m13 [m12 a a] [m13 b a]
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
s CompletingRebalance gen 2 consumer/range m12(a)=A m13*(b)
> sync s m13 2 instance=b assign=m12:A,m13:B
append s type=consumer generation=2 protocol=range leader=m13 since=1005000 [m12 a c/h 30000/5000 a->A] [m13 b c/h 30000/5000 a->B]
#33 sync consumer/range B
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
s Stable gen 2 consumer/range m12(a)=A m13*(b)=B
> wait 4000
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
s Stable gen 2 consumer/range m12(a)=A m13*(b)=B
> heartbeat s m13 2 instance=b
#34 heartbeat NONE
g Empty gen 2 consumer
h CompletingRebalance gen 4 consumer/range m8*(a)=A m7(b)=B
k CompletingRebalance gen 2 consumer/sticky m11*(x)=A
s Stable gen 2 consumer/range m12(a)=A m13*(b)=B
> wait 1000
append h type=consumer generation=5 protocol=- leader=- since=1010000
append k type=consumer generation=3 protocol=- leader=- since=1010000
g Empty gen 2 consumer
h Empty gen 5 consumer
k Empty gen 3 consumer
s PreparingRebalance gen 2 consumer/range m13*(b)=B
> join s m13 instance=b session=30000 rebalance=5000
#35 join generation 3 consumer/range leader m13 as m13 [m13 b a]
g Empty gen 2 consumer
h Empty gen 5 consumer
k Empty gen 3 consumer
s CompletingRebalance gen 3 consumer/range m13*(b)=B
