# What is refused before a group is looked at, and what a group refuses.
> join - -
#1 join INVALID_GROUP_ID as -
> join g - session=10
#2 join INVALID_SESSION_TIMEOUT as -
> join g - session=99999999
#3 join INVALID_SESSION_TIMEOUT as -
> join g nobody
#4 join UNKNOWN_MEMBER_ID as nobody
> heartbeat g nobody 0
#5 heartbeat UNKNOWN_MEMBER_ID
> sync g nobody 0
#6 sync UNKNOWN_MEMBER_ID
> leave g nobody
#7 leave NONE: UNKNOWN_MEMBER_ID
> fetch g t-0
#8 fetch NONE t-0:-1
> delete g
#9 delete GROUP_ID_NOT_FOUND
> delete-offsets g t-0
#10 delete-offsets GROUP_ID_NOT_FOUND:
> delete-offsets - t-0
#11 delete-offsets INVALID_GROUP_ID:
# A refused first Join leaves an empty group, as Kafka's does.
> join g - protocols=,
append g type= generation=0 protocol=- leader=- since=1000000
#12 join INCONSISTENT_GROUP_PROTOCOL as -
g Empty gen 0
> join g - type=
#13 join INCONSISTENT_GROUP_PROTOCOL as -
g Empty gen 0
> heartbeat g nobody 0
#14 heartbeat UNKNOWN_MEMBER_ID
g Empty gen 0
> delete g
append no group g
#15 delete NONE
> join g - v=3
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m6* join#16
> wait 0
#16 join generation 1 consumer/range leader m6 as m6 [m6 - a]
g CompletingRebalance gen 1 consumer/range m6*
> sync g m6 1 assign=m6:a
append g type=consumer generation=1 protocol=range leader=m6 since=1000000 [m6 - c/h 10000/60000 a->a]
#17 sync consumer/range a
g Stable gen 1 consumer/range m6*=a
> join g - type=connect
#18 join INCONSISTENT_GROUP_PROTOCOL as -
g Stable gen 1 consumer/range m6*=a
> join g - v=3 protocols=sticky
#19 join INCONSISTENT_GROUP_PROTOCOL as -
g Stable gen 1 consumer/range m6*=a
> join g m6 type=connect
#20 join INCONSISTENT_GROUP_PROTOCOL as m6
g Stable gen 1 consumer/range m6*=a
> commit g m6 2 t-0:5
#21 commit ILLEGAL_GENERATION
g Stable gen 1 consumer/range m6*=a
> commit g nobody 1 t-0:5
#22 commit UNKNOWN_MEMBER_ID
g Stable gen 1 consumer/range m6*=a
> commit g - -1 t-0:5
#23 commit UNKNOWN_MEMBER_ID
g Stable gen 1 consumer/range m6*=a
> commit g m6 1 t-0:5:m
append g t-0@5:-1:m:1000000:-1:-
#24 commit NONE
g Stable gen 1 consumer/range m6*=a
> delete-offsets g t-0
#25 delete-offsets NONE: GROUP_SUBSCRIBED_TO_TOPIC
g Stable gen 1 consumer/range m6*=a
> commit new m6 4 t-0:5 v=8
#26 commit ILLEGAL_GENERATION
g Stable gen 1 consumer/range m6*=a
> commit new m6 4 t-0:5 v=9
#27 commit GROUP_ID_NOT_FOUND
g Stable gen 1 consumer/range m6*=a
