config retention=10000 check=1000
# While its members are there, a consumer group keeps what it reads, whatever the age; what it no longer reads goes by the
# age of the commit.
> join g - v=3 session=300000 protocols=range:@t
append g type= generation=0 protocol=- leader=- since=1000000
g PreparingRebalance gen 0 consumer m1* join#1
> wait 0
#1 join generation 1 consumer/range leader m1 as m1 [m1 - @t]
g CompletingRebalance gen 1 consumer/range m1*
> sync g m1 1 assign=m1:a
append g type=consumer generation=1 protocol=range leader=m1 since=1000000 [m1 - c/h 300000/60000 @t->a]
#2 sync consumer/range a
g Stable gen 1 consumer/range m1*=a
> commit g m1 1 t-0:1 old-0:1
append g t-0@1:-1::1000000:-1:-
append g old-0@1:-1::1000000:-1:-
#3 commit NONE NONE
g Stable gen 1 consumer/range m1*=a
> wait 5000
g Stable gen 1 consumer/range m1*=a
> commit g m1 1 old-1:2
append g old-1@2:-1::1005000:-1:-
#4 commit NONE
g Stable gen 1 consumer/range m1*=a
> wait 6000
append no offset g old-0
g Stable gen 1 consumer/range m1*=a
> fetch g
#5 fetch NONE old-1:2 t-0:1
g Stable gen 1 consumer/range m1*=a
# Not while it rebalances: it might read that topic again.
> join g - v=3 session=300000 rebalance=300000 protocols=range:@t
g PreparingRebalance gen 1 consumer/range m1*=a m2 join#6
> wait 20000
g PreparingRebalance gen 1 consumer/range m1*=a m2 join#6
> fetch g
#7 fetch NONE old-1:2 t-0:1
g PreparingRebalance gen 1 consumer/range m1*=a m2 join#6
> join g m1 session=300000 protocols=range:@t+old
#8 join generation 2 consumer/range leader m1 as m1 [m1 - @t+old] [m2 - @t]
#6 join generation 2 consumer/range leader m1 as m2
g CompletingRebalance gen 2 consumer/range m1*=a m2
> sync g m1 2 assign=m1:a,m2:b
append g type=consumer generation=2 protocol=range leader=m1 since=1031000 [m1 - c/h 300000/60000 @t+old->a] [m2 - c/h 300000/300000 @t->b]
#9 sync consumer/range a
g Stable gen 2 consumer/range m1*=a m2=b
> wait 20000
g Stable gen 2 consumer/range m1*=a m2=b
> fetch g
#10 fetch NONE old-1:2 t-0:1
g Stable gen 2 consumer/range m1*=a m2=b
# Nobody is left: all of it counts from now, the fresh and the old.
> commit g m1 2 t-1:9
append g t-1@9:-1::1051000:-1:-
#11 commit NONE
g Stable gen 2 consumer/range m1*=a m2=b
> leave g m1 m2
append g type=consumer generation=3 protocol=- leader=- since=1051000
#12 leave NONE: NONE NONE
g Empty gen 3 consumer
> wait 9999
g Empty gen 3 consumer
> fetch g
#13 fetch NONE old-1:2 t-0:1 t-1:9
g Empty gen 3 consumer
# Somebody in time keeps it.
> join g - v=3 session=300000 protocols=range:@t+old
g PreparingRebalance gen 3 consumer m3* join#14
> wait 5000
#14 join generation 4 consumer/range leader m3 as m3 [m3 - @t+old]
g CompletingRebalance gen 4 consumer/range m3*
> fetch g
#15 fetch NONE old-1:2 t-0:1 t-1:9
g CompletingRebalance gen 4 consumer/range m3*
> sync g m3 4 assign=m3:a
append g type=consumer generation=4 protocol=range leader=m3 since=1060999 [m3 - c/h 300000/60000 @t+old->a]
#16 sync consumer/range a
g Stable gen 4 consumer/range m3*=a
> leave g m3
append g type=consumer generation=5 protocol=- leader=- since=1065999
#17 leave NONE: NONE
g Empty gen 5 consumer
# A tool's commit into the empty group changes nothing about that.
> wait 9000
g Empty gen 5 consumer
> commit g - -1 t-2:1
append g t-2@1:-1::1074999:-1:-
#18 commit NONE
g Empty gen 5 consumer
> wait 2000
append no offset g old-1
append no offset g t-0
append no offset g t-1
append no offset g t-2
append no group g
> fetch g
#19 fetch NONE
# Connect's type knows no subscriptions: with members there all stays.
> join c - v=3 type=connect session=300000 protocols=p:x
append c type= generation=0 protocol=- leader=- since=1076999
c PreparingRebalance gen 0 connect m4* join#20
> wait 0
#20 join generation 1 connect/p leader m4 as m4 [m4 - x]
c CompletingRebalance gen 1 connect/p m4*
> sync c m4 1 assign=m4:a
append c type=connect generation=1 protocol=p leader=m4 since=1076999 [m4 - c/h 300000/60000 x->a]
#21 sync connect/p a
c Stable gen 1 connect/p m4*=a
> commit c m4 1 t-0:1
append c t-0@1:-1::1076999:-1:-
#22 commit NONE
c Stable gen 1 connect/p m4*=a
> wait 60000
c Stable gen 1 connect/p m4*=a
> fetch c
#23 fetch NONE t-0:1
c Stable gen 1 connect/p m4*=a
# An explicit expiry of an old client ends in a group with members too, if the topic is not subscribed.
> join e - v=3 session=300000 protocols=range:@t
append e type= generation=0 protocol=- leader=- since=1136999
c Stable gen 1 connect/p m4*=a
e PreparingRebalance gen 0 consumer m5* join#24
> wait 0
#24 join generation 1 consumer/range leader m5 as m5 [m5 - @t]
c Stable gen 1 connect/p m4*=a
e CompletingRebalance gen 1 consumer/range m5*
> sync e m5 1 assign=m5:a
append e type=consumer generation=1 protocol=range leader=m5 since=1136999 [m5 - c/h 300000/60000 @t->a]
#25 sync consumer/range a
c Stable gen 1 connect/p m4*=a
e Stable gen 1 consumer/range m5*=a
> commit e m5 1 t-0:1 old-0:2 retention=2000
append e t-0@1:-1::1136999:1138999:-
append e old-0@2:-1::1136999:1138999:-
#26 commit NONE NONE
c Stable gen 1 connect/p m4*=a
e Stable gen 1 consumer/range m5*=a
> wait 3000
append no offset e old-0
c Stable gen 1 connect/p m4*=a
e Stable gen 1 consumer/range m5*=a
> fetch e
#27 fetch NONE t-0:1
c Stable gen 1 connect/p m4*=a
e Stable gen 1 consumer/range m5*=a
