config retention=10000 check=1000
# A place for offsets only: each offset by its own age. An explicit expiry counts instead.
> commit simple - -1 t-0:1
append simple t-0@1:-1::1000000:-1:-
#1 commit NONE
simple Empty gen 0
> wait 5000
simple Empty gen 0
> commit simple - -1 t-1:2
append simple t-1@2:-1::1005000:-1:-
#2 commit NONE
simple Empty gen 0
> commit simple - -1 t-2:3 retention=2000
append simple t-2@3:-1::1005000:1007000:-
#3 commit NONE
simple Empty gen 0
> wait 2500
append no offset simple t-2
simple Empty gen 0
> fetch simple
#4 fetch NONE t-0:1 t-1:2
simple Empty gen 0
> wait 2500
append no offset simple t-0
simple Empty gen 0
> fetch simple
#5 fetch NONE t-1:2
simple Empty gen 0
> wait 5000
append no offset simple t-1
append no group simple
> fetch simple
#6 fetch NONE
# A consumer group: from the moment that it was empty, not from the commit.
> join g - v=3 session=6000
append g type= generation=0 protocol=- leader=- since=1015000
g PreparingRebalance gen 0 consumer m1* join#7
> wait 0
#7 join generation 1 consumer/range leader m1 as m1 [m1 - a]
g CompletingRebalance gen 1 consumer/range m1*
> sync g m1 1 assign=m1:a
append g type=consumer generation=1 protocol=range leader=m1 since=1015000 [m1 - c/h 6000/60000 a->a]
#8 sync consumer/range a
g Stable gen 1 consumer/range m1*=a
> commit g m1 1 t-0:1
append g t-0@1:-1::1015000:-1:-
#9 commit NONE
g Stable gen 1 consumer/range m1*=a
> heartbeat g m1 1
#10 heartbeat NONE
g Stable gen 1 consumer/range m1*=a
> wait 5900
g Stable gen 1 consumer/range m1*=a
> heartbeat g m1 1
#11 heartbeat NONE
g Stable gen 1 consumer/range m1*=a
> wait 5900
g Stable gen 1 consumer/range m1*=a
> heartbeat g m1 1
#12 heartbeat NONE
g Stable gen 1 consumer/range m1*=a
> wait 5900
g Stable gen 1 consumer/range m1*=a
> fetch g
#13 fetch NONE t-0:1
g Stable gen 1 consumer/range m1*=a
> leave g m1
append g type=consumer generation=2 protocol=- leader=- since=1032700
#14 leave NONE: NONE
g Empty gen 2 consumer
> wait 9000
g Empty gen 2 consumer
> fetch g
#15 fetch NONE t-0:1
g Empty gen 2 consumer
> wait 1000
g Empty gen 2 consumer
> fetch g
#16 fetch NONE t-0:1
g Empty gen 2 consumer
> wait 1000
append no offset g t-0
append no group g
> fetch g
#17 fetch NONE
