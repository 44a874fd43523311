# A voter that lost its disk is started again before it has caught up: it has records and no quorum-state, and is blank as
# before. It gives itself no vote, however long there is no leader.
config log=3:0 end=4
> start
timer election in 1601 ms
to 2: fetch epoch 3 from 4@3 mark 0
= unattached epoch 3 leader -1 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer2* probe 1
> vote from=2 epoch=5 last=4@3 pre
no timer election
timer election in 1601 ms
leader -1 of epoch 5
withholds its vote from 2
answer #1: ok leader -1 epoch 5 not granted
to 3: fetch epoch 5 from 4@3 mark 0
= unattached epoch 5 leader -1 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer3* probe 0
> vote from=2 epoch=5 last=0@0 pre
answer #2: ok leader -1 epoch 5 not granted
= unattached epoch 5 leader -1 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer3* probe 0
> timer election
timer election in 1747 ms
= unattached epoch 5 leader -1 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer3* probe 0
> begin leader=2 epoch=5
no timer election
timer election in 2000 ms
leader 2 of epoch 5
answer #3: ok leader 2 epoch 5
to 2: fetch epoch 5 from 4@3 mark 0
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> timer election
timer election in 1103 ms
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> end leader=2 epoch=5 successors=1,3
timer election in 0 ms
answer #4: ok leader 2 epoch 5
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> timer election
timer election in 1416 ms
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> failed peer=2 ended
timer early-vote in 36 ms
to 2: fetch epoch 5 from 4@3 mark 0
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 mark 0 t0 t5 peer2* hurried leader-mark -1 probe 0
> timer early-vote
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer2* hurried leader-mark -1 probe 0
> failed peer=2 refused
timer retry in 20 ms
to 3: fetch epoch 5 from 4@3 mark 0
= follower epoch 5 leader 2 voted -1 blank log 0 3:0 end 4 mark 0 t0 t3 peer2~! peer3* hurried leader-mark -1 probe 0
> begin leader=3 epoch=6
no timer election
timer election in 2000 ms
leader 3 of epoch 6
answer #5: ok leader 3 epoch 6
to 3: fetch epoch 6 from 4@3 mark 0
= follower epoch 6 leader 3 voted -1 blank log 0 3:0 end 4 mark 0 t0 t3 peer2! peer3* leader-mark -1 probe 0
> fetched from=3 epoch=6 leader=3 mark=5 batches=4-5@6
append 1 fetched batches from 4 to 5
committed 4
timer election in 2000 ms
= follower epoch 6 leader 3 voted -1 blank log 0 3:0 6:4 end 5 durable 4 mark 4 op>5 t0 t3 peer2! fetched leader-mark 5 probe 0
> done
persist epoch 6 leader 3 voted -
committed 5
to 3: fetch epoch 6 from 5@6 mark 5 (once written)
= follower epoch 6 leader 3 voted -1 unwritten 1 log 0 3:0 6:4 end 5 mark 5 t0 t3 peer2! peer3* fetched leader-mark 5 probe 0
> timer election
timer election in 1999 ms
to 2: pre-vote for 1 epoch 6 last 5@6 (once written)
to 3: pre-vote for 1 epoch 6 last 5@6 (once written)
= prospective epoch 6 leader 3 voted -1 unwritten 1 log 0 3:0 6:4 end 5 mark 5 t0 t3 peer2*! peer3* +1
# So it is with a quorum-state that is older than the log.
config epoch=2 leader=2 log=3:0 end=4
> start
timer election in 1601 ms
to 2: fetch epoch 3 from 4@3 mark 0
= unattached epoch 3 leader -1 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer2* probe 1
> vote from=2 epoch=5 last=4@3
no timer election
timer election in 1601 ms
leader -1 of epoch 5
withholds its vote from 2
answer #1: ok leader -1 epoch 5 not granted
to 3: fetch epoch 5 from 4@3 mark 0
= unattached epoch 5 leader -1 voted -1 blank log 0 3:0 end 4 mark 0 t0 peer3* probe 0
# With an empty log it stands, once it has heard from a majority that nobody has more; a voter that knows no pre-vote
# cannot say so.
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
> failed peer=2 unsupported
timer retry in 20 ms
= prospective epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 t3 peer2~ peer3* +1
> voted from=3 epoch=0
= prospective epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 t3 peer2~ +1 -3
> voted from=2 epoch=0
= prospective epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 t3 peer2~ +1 -3
