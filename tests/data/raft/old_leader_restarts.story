# A leader that comes back does not lead the same epoch again: it ends it. A candidate goes on, also where quorum-state does
# not tell the directory that was voted for; a voter keeps its vote.
config epoch=3 leader=1 log=3:0 end=4
> start
timer election in 1601 ms
to 2: end epoch 3 of 1, next
to 3: end epoch 3 of 1, next
= resigned epoch 3 leader 1 voted -1 log 0 3:0 end 4 mark 0 t0 peer2* peer3* ?2 ?3
> fetch from=2 epoch=3 offset=4 last=3 wait=500
answer #1: error 6 leader 1 epoch 3 mark -1 start 0
= resigned epoch 3 leader 1 voted -1 log 0 3:0 end 4 mark 0 t0 peer2* peer3* ?2 ?3
> ended from=2 epoch=3 leader=1
= resigned epoch 3 leader 1 voted -1 log 0 3:0 end 4 mark 0 t0 peer3* ?3
> vote from=2 epoch=4 last=4@3
no timer election
persist epoch 4 leader -1 voted -
timer election in 1601 ms
leader -1 of epoch 4
persist epoch 4 leader -1 voted 2
timer election in 1747 ms
answer #2: ok leader -1 epoch 4 granted (once written)
to 2: fetch epoch 4 from 4@3 mark 0 (once written)
= unattached epoch 4 leader -1 voted 2 unwritten 2 log 0 3:0 end 4 mark 0 t0 peer2* probe 1
config epoch=3 voted=1 log=2:0 end=4
> start
timer election in 1601 ms
to 2: vote for 1 epoch 3 last 4@2
to 3: vote for 1 epoch 3 last 4@2
= candidate epoch 3 leader -1 voted 1 log 0 2:0 end 4 mark 0 t0 peer2* peer3* +1
> voted from=2 epoch=3 granted
no timer election
persist epoch 3 leader 1 voted -
leader-change epoch 3 at 4 leader 1 granted by 1 2
leads epoch 3 from 4
leader 1 of epoch 3
timer check-quorum in 3000 ms
timer begin-epoch in 1000 ms
to 2: begin epoch 3 of 1 (once written)
to 3: begin epoch 3 of 1 (once written)
= leader epoch 3 leader 1 voted -1 unwritten 1 log 0 2:0 3:4 end 5 durable 4 mark 0 op>5 t1 t2 peer2* peer3* start 4 unmarked 2=-1? 3=-1?
config dir=7 epoch=3 voted=1 log=2:0 end=4
> start
timer election in 1601 ms
to 2: vote for 1/7 epoch 3 last 4@2
to 3: vote for 1/7 epoch 3 last 4@2
= candidate epoch 3 leader -1 voted 1 log 0 2:0 end 4 mark 0 t0 peer2* peer3* +1
config epoch=3 voted=2 log=2:0 end=4
> start
timer election in 1601 ms
to 2: fetch epoch 3 from 4@2 mark 0
= unattached epoch 3 leader -1 voted 2 log 0 2:0 end 4 mark 0 t0 peer2* probe 1
> vote from=3 epoch=3 last=4@2
answer #1: ok leader -1 epoch 3 not granted
= unattached epoch 3 leader -1 voted 2 log 0 2:0 end 4 mark 0 t0 peer2* probe 1
> vote from=2 epoch=3 last=4@2
answer #2: ok leader -1 epoch 3 granted
= unattached epoch 3 leader -1 voted 2 log 0 2:0 end 4 mark 0 t0 peer2* probe 1
