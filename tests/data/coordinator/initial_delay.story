config initial-delay=3000
# The first rebalance waits for further members: each newcomer extends it, up to the rebalance timeout.
> join g - v=3 rebalance=7000
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1* join#1
> wait 2000
g PreparingRebalance gen 0 consumer m1* join#1
> join g - v=3 rebalance=7000
g PreparingRebalance gen 0 consumer m1* join#1 m2 join#2
> wait 999
g PreparingRebalance gen 0 consumer m1* join#1 m2 join#2
> wait 1
g PreparingRebalance gen 0 consumer m1* join#1 m2 join#2
> wait 3000
#1 join generation 1 consumer/range leader m1 as m1 [m1 - a] [m2 - a]
#2 join generation 1 consumer/range leader m1 as m2
g CompletingRebalance gen 1 consumer/range m1* m2
# To be given an id is no rebalance; the Join with it is.
> sync g m1 1 assign=m1:a,m2:b
append g type=consumer generation=1 protocol=range leader=m1 since=1006000 [m1 - c/h 10000/7000 a->a] [m2 - c/h 10000/7000 a->b]
#3 sync consumer/range a
g Stable gen 1 consumer/range m1*=a m2=b
> sync g m2 1
#4 sync consumer/range b
g Stable gen 1 consumer/range m1*=a m2=b
> join g - v=4
#5 join MEMBER_ID_REQUIRED as m3
g Stable gen 1 consumer/range m1*=a m2=b ?m3
> heartbeat g m1 1
#6 heartbeat NONE
g Stable gen 1 consumer/range m1*=a m2=b ?m3
> join g m2 rebalance=7000
#7 join generation 1 consumer/range leader m1 as m2
g Stable gen 1 consumer/range m1*=a m2=b ?m3
> heartbeat g m1 1
#8 heartbeat NONE
g Stable gen 1 consumer/range m1*=a m2=b ?m3
> join g m3
g PreparingRebalance gen 1 consumer/range m1*=a m2=b m3 join#9
> join g m1 rebalance=7000
g PreparingRebalance gen 1 consumer/range m1* join#10=a m2=b m3 join#9
> join g m2 rebalance=7000
#10 join generation 2 consumer/range leader m1 as m1 [m1 - a] [m2 - a] [m3 - a]
#11 join generation 2 consumer/range leader m1 as m2
#9 join generation 2 consumer/range leader m1 as m3
g CompletingRebalance gen 2 consumer/range m1*=a m2=b m3
