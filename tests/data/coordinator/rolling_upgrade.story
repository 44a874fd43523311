# Static members are restarted one by one with another assignor. While the group's choice stays what it was, a restart is
# silent; the one that changes the choice costs one rebalance.
> join g - instance=a protocols=range:a
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1*(a) join#1
> join g - instance=b protocols=range:b
g PreparingRebalance gen 0 consumer m1*(a) join#1 m2(b) join#2
> wait 0
#1 join generation 1 consumer/range leader m1 as m1 [m1 a a] [m2 b b]
#2 join generation 1 consumer/range leader m1 as m2
g CompletingRebalance gen 1 consumer/range m1*(a) m2(b)
> sync g m2 1 instance=b
g CompletingRebalance gen 1 consumer/range m1*(a) m2(b) sync#3
> sync g m1 1 instance=a assign=m1:A,m2:B
append g type=consumer generation=1 protocol=range leader=m1 since=1000000 [m1 a c/h 10000/60000 a->A] [m2 b c/h 10000/60000 b->B]
#4 sync consumer/range A
#3 sync consumer/range B
g Stable gen 1 consumer/range m1*(a)=A m2(b)=B
> join g - instance=a protocols=sticky:a,range:a
append g type=consumer generation=1 protocol=range leader=m3 since=1000000 [m3 a c/h 10000/60000 a->A] [m2 b c/h 10000/60000 b->B]
#5 join generation 1 consumer/range leader m3 as m3 skip [m3 a a] [m2 b b]
g Stable gen 1 consumer/range m3*(a)=A m2(b)=B
> sync g m3 1 instance=a protocol=range
#6 sync consumer/range A
g Stable gen 1 consumer/range m3*(a)=A m2(b)=B
> heartbeat g m2 1 instance=b
#7 heartbeat NONE
g Stable gen 1 consumer/range m3*(a)=A m2(b)=B
> join g - instance=b protocols=sticky:b,range:b
g PreparingRebalance gen 1 consumer/range m3*(a)=A m4(b) join#8=B
> heartbeat g m3 1 instance=a
#9 heartbeat REBALANCE_IN_PROGRESS
g PreparingRebalance gen 1 consumer/range m3*(a)=A m4(b) join#8=B
> join g m3 instance=a protocols=sticky:a,range:a
#10 join generation 2 consumer/sticky leader m3 as m3 [m3 a a] [m4 b b]
#8 join generation 2 consumer/sticky leader m3 as m4
g CompletingRebalance gen 2 consumer/sticky m3*(a)=A m4(b)=B
> sync g m4 2 instance=b protocol=sticky
g CompletingRebalance gen 2 consumer/sticky m3*(a)=A m4(b) sync#11=B
> sync g m3 2 instance=a protocol=sticky assign=m3:A,m4:B
append g type=consumer generation=2 protocol=sticky leader=m3 since=1000000 [m3 a c/h 10000/60000 a->A] [m4 b c/h 10000/60000 b->B]
#12 sync consumer/sticky A
#11 sync consumer/sticky B
g Stable gen 2 consumer/sticky m3*(a)=A m4(b)=B
# Now without range at all: still the same choice. With range alone nobody agrees with it.
> join g - instance=a protocols=sticky:a
append g type=consumer generation=2 protocol=sticky leader=m5 since=1000000 [m5 a c/h 10000/60000 a->A] [m4 b c/h 10000/60000 b->B]
#13 join generation 2 consumer/sticky leader m5 as m5 skip [m5 a a] [m4 b b]
g Stable gen 2 consumer/sticky m5*(a)=A m4(b)=B
> sync g m5 2 instance=a protocol=sticky
#14 sync consumer/sticky A
g Stable gen 2 consumer/sticky m5*(a)=A m4(b)=B
> join g - instance=b protocols=range:b
#15 join INCONSISTENT_GROUP_PROTOCOL as -
g Stable gen 2 consumer/sticky m5*(a)=A m4(b)=B
