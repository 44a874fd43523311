# A leader that no majority fetches from resigns, names who is ahead, and waits for another before it stands again.
config voters=1,2,3,4,5 epoch=1 voted=1
> start
timer election in 1601 ms
to 2: vote for 1 epoch 1 last 0@0
to 3: vote for 1 epoch 1 last 0@0
to 4: vote for 1 epoch 1 last 0@0
to 5: vote for 1 epoch 1 last 0@0
= candidate epoch 1 leader -1 voted 1 log 0 end 0 mark 0 t0 peer2* peer3* peer4* peer5* +1
> voted from=2 epoch=1 granted
= candidate epoch 1 leader -1 voted 1 log 0 end 0 mark 0 t0 peer3* peer4* peer5* +1 +2
> voted from=3 epoch=1 granted
no timer election
persist epoch 1 leader 1 voted -
leader-change epoch 1 at 0 leader 1 granted by 1 2 3
leads epoch 1 from 0
leader 1 of epoch 1
timer check-quorum in 3000 ms
timer begin-epoch in 1000 ms
to 2: begin epoch 1 of 1 (once written)
to 3: begin epoch 1 of 1 (once written)
to 4: begin epoch 1 of 1 (once written)
to 5: begin epoch 1 of 1 (once written)
= leader epoch 1 leader 1 voted -1 unwritten 1 log 0 1:0 end 1 durable 0 mark 0 op>1 t1 t2 peer2* peer3* peer4* peer5* start 0 unmarked 2=-1? 3=-1? 4=-1? 5=-1?
> persisted
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 durable 0 mark 0 op>1 t1 t2 peer2* peer3* peer4* peer5* start 0 unmarked 2=-1? 3=-1? 4=-1? 5=-1?
> done
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 0 t1 t2 peer2* peer3* peer4* peer5* start 0 unmarked 2=-1? 3=-1? 4=-1? 5=-1?
> fetch from=2 epoch=1 offset=0 wait=500
answer #1: ok leader 1 epoch 1 mark -1 start 0 with records from 0
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 0 t1 t2 peer2* peer3* peer4* peer5* start 0 unmarked 2=0' 3=-1? 4=-1? 5=-1?
> fetch from=3 epoch=1 offset=1 last=1 wait=500
timer check-quorum in 3000 ms
timer parked-fetch in 500 ms
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 0 t1 t2 t4 peer2* peer3* peer4* peer5* start 0 unmarked 2=0 3=1 4=-1? 5=-1? parked 3@1
> fetch from=2 epoch=1 offset=1 last=1 wait=500
committed 1
answer #2: ok leader 1 epoch 1 mark 1 start 0
no timer parked-fetch
timer parked-fetch in 500 ms
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 1 t1 t2 t4 peer2* peer3* peer4* peer5* start 0 2=1' 3=1 4=-1? 5=-1? parked 2@1
> wait 2500
> fetch from=2 epoch=1 offset=1 last=1 wait=500
= leader epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 1 t1 t2 t4 peer2* peer3* peer4* peer5* start 0 2=1' 3=1 4=-1? 5=-1? parked 2@1 parked 2@1
> timer check-quorum
no timer begin-epoch
no timer parked-fetch
leads epoch 1 no more
timer election in 1747 ms
answer #3: error 6 leader 1 epoch 1 mark -1 start 0
answer #4: error 6 leader 1 epoch 1 mark -1 start 0
to 2: end epoch 1 of 1, next 2 3 4 5
to 3: end epoch 1 of 1, next 2 3 4 5
to 4: end epoch 1 of 1, next 2 3 4 5
to 5: end epoch 1 of 1, next 2 3 4 5
= resigned epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 1 t0 peer2* peer3* peer4* peer5* ?2 ?3 ?4 ?5
> fetch from=3 epoch=1 offset=1 last=1 wait=500
answer #5: error 6 leader 1 epoch 1 mark -1 start 0
= resigned epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 1 t0 peer2* peer3* peer4* peer5* ?2 ?3 ?4 ?5
> vote from=3 epoch=1 last=1@1 pre
answer #6: ok leader 1 epoch 1 granted
= resigned epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 1 t0 peer2* peer3* peer4* peer5* ?2 ?3 ?4 ?5
> ended from=2 epoch=1 leader=1
= resigned epoch 1 leader 1 voted -1 log 0 1:0 end 1 mark 1 t0 peer3* peer4* peer5* ?3 ?4 ?5
> timer election
persist epoch 2 leader -1 voted -
timer election in 1103 ms
leader -1 of epoch 2
to 2: fetch epoch 2 from 1@1 mark 1 (once written)
= unattached epoch 2 leader -1 voted -1 unwritten 1 log 0 1:0 end 1 mark 1 t0 peer2* probe 1
