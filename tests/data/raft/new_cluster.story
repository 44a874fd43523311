# Three voters that have nothing form a quorum: one stands (election.story), and this one votes for it, as nobody has
# records. Its vote is its memory.
config
> start
timer election in 1601 ms
to 2: fetch epoch 0 from 0@0 mark 0
= unattached epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer2* probe 1
> vote from=2 epoch=0 last=0@0 pre
answer #1: ok leader -1 epoch 0 granted
= unattached epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer2* probe 1
> vote from=2 epoch=1 last=0@0
no timer election
timer election in 1601 ms
leader -1 of epoch 1
persist epoch 1 leader -1 voted 2
timer election in 1747 ms
answer #2: ok leader -1 epoch 1 granted (once written)
to 3: fetch epoch 1 from 0@0 mark 0 (once written)
= unattached epoch 1 leader -1 voted 2 unwritten 1 log 0 end 0 mark 0 t0 peer3* probe 0
> persisted
= unattached epoch 1 leader -1 voted 2 log 0 end 0 mark 0 t0 peer3* probe 0
> begin leader=2 epoch=1
no timer election
persist epoch 1 leader 2 voted 2
timer election in 2000 ms
leader 2 of epoch 1
answer #3: ok leader 2 epoch 1 (once written)
to 2: fetch epoch 1 from 0@0 mark 0 (once written)
= follower epoch 1 leader 2 voted 2 unwritten 1 log 0 end 0 mark 0 t0 peer2* leader-mark -1 probe 0
> persisted
= follower epoch 1 leader 2 voted 2 log 0 end 0 mark 0 t0 peer2* leader-mark -1 probe 0
> vote from=3 epoch=2 last=1@1
no timer election
persist epoch 2 leader -1 voted -
timer election in 1103 ms
leader -1 of epoch 2
persist epoch 2 leader -1 voted 3
timer election in 1416 ms
answer #4: ok leader -1 epoch 2 granted (once written)
to 2: fetch epoch 2 from 0@0 mark 0 (once written)
= unattached epoch 2 leader -1 voted 3 unwritten 2 log 0 end 0 mark 0 t0 peer2* probe 1
# The third, which nobody asked, has one when it has caught up.
config self=3
> start
timer election in 1601 ms
to 1: fetch epoch 0 from 0@0 mark 0
= unattached epoch 0 leader -1 voted -1 blank log 0 end 0 mark 0 t0 peer1* probe 1
> begin leader=2 epoch=1
no timer election
timer election in 2000 ms
leader 2 of epoch 1
answer #1: ok leader 2 epoch 1
to 2: fetch epoch 1 from 0@0 mark 0
= follower epoch 1 leader 2 voted -1 blank log 0 end 0 mark 0 t0 peer2* leader-mark -1 probe 1
> fetched from=2 epoch=1 leader=2 mark=-1 batches=0-1@1
append 1 fetched batches from 0 to 1
timer election in 2000 ms
= follower epoch 1 leader 2 voted -1 blank log 0 1:0 end 1 durable 0 mark 0 op>1 t0 fetched leader-mark -1 probe 1
> done
to 2: fetch epoch 1 from 1@1 mark 0
= follower epoch 1 leader 2 voted -1 blank log 0 1:0 end 1 mark 0 t0 peer2* fetched leader-mark -1 probe 1
> fetched from=2 epoch=1 leader=2 mark=1
persist epoch 1 leader 2 voted -
committed 1
timer election in 2000 ms
to 2: fetch epoch 1 from 1@1 mark 1 (once written)
= follower epoch 1 leader 2 voted -1 unwritten 1 log 0 1:0 end 1 mark 1 t0 peer2* fetched leader-mark 1 probe 1
> persisted
= follower epoch 1 leader 2 voted -1 log 0 1:0 end 1 mark 1 t0 peer2* fetched leader-mark 1 probe 1
> vote from=1 epoch=2 last=1@1
no timer election
persist epoch 2 leader -1 voted -
timer election in 1747 ms
leader -1 of epoch 2
persist epoch 2 leader -1 voted 1
timer election in 1103 ms
answer #2: ok leader -1 epoch 2 granted (once written)
to 2: fetch epoch 2 from 1@1 mark 1 (once written)
= unattached epoch 2 leader -1 voted 1 unwritten 2 log 0 1:0 end 1 mark 1 t0 peer2* probe 0
