# Members that were given an id: they count for a rebalance under way, leave, and expire by their session.
> join g - v=3
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1* join#1
> wait 0
#1 join generation 1 consumer/range leader m1 as m1 [m1 - a]
g CompletingRebalance gen 1 consumer/range m1*
> sync g m1 1 assign=m1:a
append g type=consumer generation=1 protocol=range leader=m1 since=1000000 [m1 - c/h 10000/60000 a->a]
#2 sync consumer/range a
g Stable gen 1 consumer/range m1*=a
> join g -
#3 join MEMBER_ID_REQUIRED as m2
g Stable gen 1 consumer/range m1*=a ?m2
> join g - v=3
g PreparingRebalance gen 1 consumer/range m1*=a m3 join#4 ?m2
> join g m1
g PreparingRebalance gen 1 consumer/range m1* join#5=a m3 join#4 ?m2
> leave g m2
#6 leave NONE: NONE
#5 join generation 2 consumer/range leader m1 as m1 [m1 - a] [m3 - a]
#4 join generation 2 consumer/range leader m1 as m3
g CompletingRebalance gen 2 consumer/range m1*=a m3
> sync g m1 2 assign=m1:a,m3:b
append g type=consumer generation=2 protocol=range leader=m1 since=1000000 [m1 - c/h 10000/60000 a->a] [m3 - c/h 10000/60000 a->b]
#7 sync consumer/range a
g Stable gen 2 consumer/range m1*=a m3=b
> join g - session=6000
#8 join MEMBER_ID_REQUIRED as m4
g Stable gen 2 consumer/range m1*=a m3=b ?m4
> join g - session=6000
#9 join MEMBER_ID_REQUIRED as m5
g Stable gen 2 consumer/range m1*=a m3=b ?m4 ?m5
> join g m1
g PreparingRebalance gen 2 consumer/range m1* join#10=a m3=b ?m4 ?m5
> join g m3
g PreparingRebalance gen 2 consumer/range m1* join#10=a m3 join#11=b ?m4 ?m5
> wait 6000
#10 join generation 3 consumer/range leader m1 as m1 [m1 - a] [m3 - a]
#11 join generation 3 consumer/range leader m1 as m3
g CompletingRebalance gen 3 consumer/range m1*=a m3=b
> join g m4
#12 join UNKNOWN_MEMBER_ID as m4
g CompletingRebalance gen 3 consumer/range m1*=a m3=b
> leave g m1 m3
append g type=consumer generation=4 protocol=- leader=- since=1006000
#13 leave NONE: NONE NONE
g Empty gen 4 consumer
> join g - session=6000
#14 join MEMBER_ID_REQUIRED as m6
g Empty gen 4 consumer ?m6
> delete g
append no group g
#15 delete NONE
> join g m6 session=6000
#16 join UNKNOWN_MEMBER_ID as m6
