# From nothing to the first committed record. The pre-vote raises no epoch; the vote does, and is written first.
config
> start
timer election in 1601 ms
to 2: fetch epoch 0 from 0@0 mark 0
= unattached epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer2* probe 1
> timer election
timer election in 1747 ms
to 2: pre-vote for 1 epoch 0 last 0@0
to 3: pre-vote for 1 epoch 0 last 0@0
= prospective epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer2* peer3* +1
> voted from=2 epoch=0 granted
no timer election
persist epoch 1 leader -1 voted 1
timer election in 1103 ms
leader -1 of epoch 1
to 2: vote for 1 epoch 1 last 0@0 (once written)
to 3: vote for 1 epoch 1 last 0@0 (once written)
= candidate epoch 1 leader -1 voted 1 unwritten 1 log 0 end 0 mark 0 t0 peer2* peer3*
> persisted
= candidate epoch 1 leader -1 voted 1 log 0 end 0 mark 0 t0 peer2* peer3* +1
> voted from=2 epoch=1 granted
no timer election
persist epoch 1 leader 1 voted -
leader-change epoch 1 at 0 leader 1 granted by 1 2
leads epoch 1 from 0
leader 1 of epoch 1
timer check-quorum in 3000 ms
timer begin-epoch in 1000 ms
to 2: begin epoch 1 of 1 (once written)
to 3: begin epoch 1 of 1 (once written)
= leader epoch 1 leader 1 voted -1 unwritten 1 log 0 1:0 end 1 durable 0 mark 0 op>1 t1 t2 peer2* peer3* start 0 unmarked 2=-1? 3=-1?
> persisted
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 durable 0 mark 0 op>1 t1 t2 peer2* peer3* start 0 unmarked 2=-1? 3=-1?
> begun from=2 epoch=1 leader=1
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 durable 0 mark 0 op>1 t1 t2 peer3* start 0 unmarked 2=-1 3=-1?
> fetch from=2 epoch=1 offset=0 mark=0 wait=500
timer check-quorum in 3000 ms
answer #1: ok leader 1 epoch 1 mark -1 start 0 with records from 0
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 durable 0 mark 0 op>1 t1 t2 peer3* start 0 unmarked 2=0 3=-1?
> done
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 0 t1 t2 peer3* start 0 unmarked 2=0 3=-1?
> fetch from=2 epoch=1 offset=1 last=1 mark=0 wait=500
timer check-quorum in 3000 ms
committed 1
answer #2: ok leader 1 epoch 1 mark 1 start 0
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 1 t1 t2 peer3* start 0 2=1 3=-1?
> append epoch=1
append #7 epoch 1 at 1
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 2 durable 1 mark 1 op>2 t1 t2 peer3* start 0 2=1 3=-1?
> fetch from=3 epoch=1 offset=2 last=1 mark=0 wait=500
timer check-quorum in 3000 ms
answer #3: ok leader 1 epoch 1 mark 1 start 0
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 2 durable 1 mark 1 op>2 t1 t2 peer3* start 0 2=1 3=2
> done
committed 2
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 2 mark 2 t1 t2 peer3* start 0 2=1 3=2
> fetch from=2 epoch=1 offset=2 last=1 mark=2 wait=500
timer check-quorum in 3000 ms
timer parked-fetch in 500 ms
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 2 mark 2 t1 t2 t4 peer3* start 0 2=2 3=2 parked 2@2
> wait 500
> timer parked-fetch
answer #4: ok leader 1 epoch 1 mark 2 start 0
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 2 mark 2 t1 t2 peer3* start 0 2=2 3=2
