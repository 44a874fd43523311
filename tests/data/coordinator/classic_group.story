# One member from its first Join to the end of its group, as an old client (no id first), then as a new one.
> join g - v=3
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1* join#1
> wait 0
#1 join generation 1 consumer/range leader m1 as m1 [m1 - a]
g CompletingRebalance gen 1 consumer/range m1*
> heartbeat g m1 1
#2 heartbeat NONE
g CompletingRebalance gen 1 consumer/range m1*
> describe g
#3 describe NONE CompletingRebalance type=consumer protocol= [m1 - c/h ->]
g CompletingRebalance gen 1 consumer/range m1*
> sync g m1 1 assign=m1:abc
append g type=consumer generation=1 protocol=range leader=m1 since=1000000 [m1 - c/h 10000/60000 a->abc]
#4 sync consumer/range abc
g Stable gen 1 consumer/range m1*=abc
> heartbeat g m1 1
#5 heartbeat NONE
g Stable gen 1 consumer/range m1*=abc
> heartbeat g m1 2
#6 heartbeat ILLEGAL_GENERATION
g Stable gen 1 consumer/range m1*=abc
> heartbeat g nobody 1
#7 heartbeat UNKNOWN_MEMBER_ID
g Stable gen 1 consumer/range m1*=abc
> sync g m1 1 type=consumer protocol=range
#8 sync consumer/range abc
g Stable gen 1 consumer/range m1*=abc
> sync g m1 6
#9 sync ILLEGAL_GENERATION
g Stable gen 1 consumer/range m1*=abc
> sync g m1 1 type=connect
#10 sync INCONSISTENT_GROUP_PROTOCOL
g Stable gen 1 consumer/range m1*=abc
> sync g m1 1 protocol=sticky
#11 sync INCONSISTENT_GROUP_PROTOCOL
g Stable gen 1 consumer/range m1*=abc
> describe g
#12 describe NONE Stable type=consumer protocol=range [m1 - c/h a->abc]
g Stable gen 1 consumer/range m1*=abc
> join g m1
#13 join generation 2 consumer/range leader m1 as m1 [m1 - a]
g CompletingRebalance gen 2 consumer/range m1*=abc
> wait 0
g CompletingRebalance gen 2 consumer/range m1*=abc
> leave g nobody
#14 leave NONE: UNKNOWN_MEMBER_ID
g CompletingRebalance gen 2 consumer/range m1*=abc
> leave g m1 nobody m1
append g type=consumer generation=3 protocol=- leader=- since=1000000
#15 leave NONE: NONE UNKNOWN_MEMBER_ID UNKNOWN_MEMBER_ID
g Empty gen 3 consumer
> describe g
#16 describe NONE Empty type=consumer protocol=
g Empty gen 3 consumer
> delete g
append no group g
#17 delete NONE
> describe g
#18 describe GROUP_ID_NOT_FOUND Dead type= protocol=
> join g -
append g type= generation=0 protocol=- leader=- since=1000000
#19 join MEMBER_ID_REQUIRED as m2
g Empty gen 0 ?m2
> join g m2
g PreparingRebalance gen 0 consumer m2* join#20
> wait 0
#20 join generation 1 consumer/range leader m2 as m2 [m2 - a]
g CompletingRebalance gen 1 consumer/range m2*
> sync g m2 1 assign=m2:x
append g type=consumer generation=1 protocol=range leader=m2 since=1000000 [m2 - c/h 10000/60000 a->x]
#21 sync consumer/range x
g Stable gen 1 consumer/range m2*=x
> delete g
#22 delete NON_EMPTY_GROUP
g Stable gen 1 consumer/range m2*=x
> leave g m2
append g type=consumer generation=2 protocol=- leader=- since=1000000
#23 leave NONE: NONE
g Empty gen 2 consumer
> heartbeat g m2 1
#24 heartbeat UNKNOWN_MEMBER_ID
g Empty gen 2 consumer
