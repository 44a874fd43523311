# What members say of themselves is theirs. Kafka Connect's workers, whose protocol type is their own: the group's
# offsets, if somebody commits any, belong to no subscription.
> join c - v=3 type=connect protocols=sessioned:w1,compatible:w1,default:w1
append c type= generation=0 protocol=- leader=- since=1000000
c PreparingRebalance gen 0 connect m1* join#1
> join c - v=3 type=connect protocols=sessioned:w2,compatible:w2
c PreparingRebalance gen 0 connect m1* join#1 m2 join#2
> wait 0
#1 join generation 1 connect/sessioned leader m1 as m1 [m1 - w1] [m2 - w2]
#2 join generation 1 connect/sessioned leader m1 as m2
c CompletingRebalance gen 1 connect/sessioned m1* m2
> sync c m2 1 type=connect protocol=sessioned
c CompletingRebalance gen 1 connect/sessioned m1* m2 sync#3
> sync c m1 1 type=connect protocol=sessioned assign=m1:tasks-1,m2:tasks-2
append c type=connect generation=1 protocol=sessioned leader=m1 since=1000000 [m1 - c/h 10000/60000 w1->tasks-1] [m2 - c/h 10000/60000 w2->tasks-2]
#4 sync connect/sessioned tasks-1
#3 sync connect/sessioned tasks-2
c Stable gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2
> sync c m2 1 type=consumer
#5 sync INCONSISTENT_GROUP_PROTOCOL
c Stable gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2
> sync c m2 1 type=connect protocol=compatible
#6 sync INCONSISTENT_GROUP_PROTOCOL
c Stable gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2
> join c - v=3 type=consumer protocols=sessioned:w3
#7 join INCONSISTENT_GROUP_PROTOCOL as -
c Stable gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2
> describe c
#8 describe NONE Stable type=connect protocol=sessioned [m1 - c/h w1->tasks-1] [m2 - c/h w2->tasks-2]
c Stable gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2
> commit c m1 1 t-0:1
append c t-0@1:-1::1000000:-1:-
#9 commit NONE
c Stable gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2
> delete-offsets c t-0
#10 delete-offsets NON_EMPTY_GROUP:
c Stable gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2
# An old worker knows only a protocol that m2 has not. One whose protocol all have, though nobody likes it best, is welcome.
> join c - v=3 type=connect protocols=default:w4
#11 join INCONSISTENT_GROUP_PROTOCOL as -
c Stable gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2
> join c - v=3 type=connect protocols=compatible:w5
c PreparingRebalance gen 1 connect/sessioned m1*=tasks-1 m2=tasks-2 m5 join#12
> join c m1 type=connect protocols=sessioned:w1,compatible:w1,default:w1
c PreparingRebalance gen 1 connect/sessioned m1* join#13=tasks-1 m2=tasks-2 m5 join#12
> join c m2 type=connect protocols=sessioned:w2,compatible:w2
#13 join generation 2 connect/compatible leader m1 as m1 [m1 - w1] [m2 - w2] [m5 - w5]
#14 join generation 2 connect/compatible leader m1 as m2
#12 join generation 2 connect/compatible leader m1 as m5
c CompletingRebalance gen 2 connect/compatible m1*=tasks-1 m2=tasks-2 m5
> sync c m1 2 assign=m1:x,m2:y,m5:z
append c type=connect generation=2 protocol=compatible leader=m1 since=1000000 [m1 - c/h 10000/60000 w1->x] [m2 - c/h 10000/60000 w2->y] [m5 - c/h 10000/60000 w5->z]
#15 sync connect/compatible x
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
# Kafka Streams' classic protocol is a consumer's with one assignor of its own and data beside the subscription.
> join s - client=app-1 type=consumer protocols=stream:@in+repartition
append s type= generation=0 protocol=- leader=- since=1000000
#16 join MEMBER_ID_REQUIRED as m6
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
s Empty gen 0 ?m6
> join s m6 client=app-1 type=consumer protocols=stream:@in+repartition
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
s PreparingRebalance gen 0 consumer m6* join#17
> wait 0
#17 join generation 1 consumer/stream leader m6 as m6 [m6 - @in+repartition]
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
s CompletingRebalance gen 1 consumer/stream m6*
> sync s m6 1 assign=m6:0_0+0_1
append s type=consumer generation=1 protocol=stream leader=m6 since=1000000 [m6 - app-1/h 10000/60000 @in+repartition->0_0+0_1]
#18 sync consumer/stream 0_0+0_1
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
s Stable gen 1 consumer/stream m6*=0_0+0_1
> join s - v=3 client=app-2 type=consumer protocols=range:@in
#19 join INCONSISTENT_GROUP_PROTOCOL as -
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
s Stable gen 1 consumer/stream m6*=0_0+0_1
> commit s m6 1 in-0:7
append s in-0@7:-1::1000000:-1:-
#20 commit NONE
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
s Stable gen 1 consumer/stream m6*=0_0+0_1
> delete-offsets s in-0 other-0
#21 delete-offsets NONE: GROUP_SUBSCRIBED_TO_TOPIC NONE
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
s Stable gen 1 consumer/stream m6*=0_0+0_1
# Of type consumer, but no subscription can be read from it: it may read any topic.
> join r - v=3 type=consumer protocols=mine:x
append r type= generation=0 protocol=- leader=- since=1000000
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r PreparingRebalance gen 0 consumer m8* join#22
s Stable gen 1 consumer/stream m6*=0_0+0_1
> wait 0
#22 join generation 1 consumer/mine leader m8 as m8 [m8 - x]
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r CompletingRebalance gen 1 consumer/mine m8*
s Stable gen 1 consumer/stream m6*=0_0+0_1
> sync r m8 1 assign=m8:all
append r type=consumer generation=1 protocol=mine leader=m8 since=1000000 [m8 - c/h 10000/60000 x->all]
#23 sync consumer/mine all
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r Stable gen 1 consumer/mine m8*=all
s Stable gen 1 consumer/stream m6*=0_0+0_1
> commit r m8 1 t-0:3
append r t-0@3:-1::1000000:-1:-
#24 commit NONE
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r Stable gen 1 consumer/mine m8*=all
s Stable gen 1 consumer/stream m6*=0_0+0_1
> delete-offsets r t-0
#25 delete-offsets NONE: GROUP_SUBSCRIBED_TO_TOPIC
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r Stable gen 1 consumer/mine m8*=all
s Stable gen 1 consumer/stream m6*=0_0+0_1
# The type stays with a group that is empty, and may be another when it fills again.
> leave r m8
append r type=consumer generation=2 protocol=- leader=- since=1000000
#26 leave NONE: NONE
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r Empty gen 2 consumer
s Stable gen 1 consumer/stream m6*=0_0+0_1
> list types=classic
#27 list NONE [c connect Stable classic] [r consumer Empty classic] [s consumer Stable classic]
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r Empty gen 2 consumer
s Stable gen 1 consumer/stream m6*=0_0+0_1
> join r - v=3 type=sr protocols=v0:schema
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r PreparingRebalance gen 2 sr m9* join#28
s Stable gen 1 consumer/stream m6*=0_0+0_1
> wait 0
#28 join generation 3 sr/v0 leader m9 as m9 [m9 - schema]
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r CompletingRebalance gen 3 sr/v0 m9*
s Stable gen 1 consumer/stream m6*=0_0+0_1
> delete-offsets r t-0
#29 delete-offsets NON_EMPTY_GROUP:
c Stable gen 2 connect/compatible m1*=x m2=y m5=z
r CompletingRebalance gen 3 sr/v0 m9*
s Stable gen 1 consumer/stream m6*=0_0+0_1
