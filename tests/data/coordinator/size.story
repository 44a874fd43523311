config max-size=2
# group.max.size: no more than two; a group found larger after a restart loses the last to re-join.
> join g - v=3
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1* join#1
> join g - v=3
g PreparingRebalance gen 0 consumer m1* join#1 m2 join#2
> wait 0
#1 join generation 1 consumer/range leader m1 as m1 [m1 - a] [m2 - a]
#2 join generation 1 consumer/range leader m1 as m2
g CompletingRebalance gen 1 consumer/range m1* m2
> join g - v=3
#3 join GROUP_MAX_SIZE_REACHED as -
g CompletingRebalance gen 1 consumer/range m1* m2
> join g -
#4 join GROUP_MAX_SIZE_REACHED as -
g CompletingRebalance gen 1 consumer/range m1* m2
> sync g m1 1 assign=m1:a,m2:b
append g type=consumer generation=1 protocol=range leader=m1 since=1000000 [m1 - c/h 10000/60000 a->a] [m2 - c/h 10000/60000 a->b]
#5 sync consumer/range a
g Stable gen 1 consumer/range m1*=a m2=b
> sync g m2 1
#6 sync consumer/range b
g Stable gen 1 consumer/range m1*=a m2=b
> join g m1
g PreparingRebalance gen 1 consumer/range m1* join#7=a m2=b
> join g - v=3
g PreparingRebalance gen 1 consumer/range m1* join#7=a m2=b m5 join#8
> join g m2
#9 join GROUP_MAX_SIZE_REACHED as -
#7 join generation 2 consumer/range leader m1 as m1 [m1 - a] [m5 - a]
#8 join generation 2 consumer/range leader m1 as m5
g CompletingRebalance gen 2 consumer/range m1*=a m5
