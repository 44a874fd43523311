# One vote an epoch, for a log that is not behind, written before it is spoken; errors in Kafka's order.
config dir=7 epoch=3 log=1:0,2:4 end=6
> start
timer election in 1601 ms
to 2: fetch epoch 3 from 6@2 mark 0
= unattached epoch 3 leader -1 voted -1 log 0 1:0 2:4 end 6 mark 0 t0 peer2* probe 1
> vote from=2 epoch=4 last=6@2 other-cluster
answer #1: top error 104 not granted
= unattached epoch 3 leader -1 voted -1 log 0 1:0 2:4 end 6 mark 0 t0 peer2* probe 1
> vote from=2 epoch=4 last=6@2 other-topic
answer #2: top error 42 not granted
= unattached epoch 3 leader -1 voted -1 log 0 1:0 2:4 end 6 mark 0 t0 peer2* probe 1
> vote from=2 epoch=2 last=5@1
answer #3: error 74 leader -1 epoch 3 not granted
= unattached epoch 3 leader -1 voted -1 log 0 1:0 2:4 end 6 mark 0 t0 peer2* probe 1
> vote from=2 epoch=3 last=6@3
answer #4: error 42 leader -1 epoch 3 not granted
= unattached epoch 3 leader -1 voted -1 log 0 1:0 2:4 end 6 mark 0 t0 peer2* probe 1
> vote from=-1 epoch=4 last=6@2
answer #5: error 42 leader -1 epoch 3 not granted
= unattached epoch 3 leader -1 voted -1 log 0 1:0 2:4 end 6 mark 0 t0 peer2* probe 1
> vote from=2 epoch=4 last=6@2 voter=1 voter-dir=8
no timer election
persist epoch 4 leader -1 voted -
timer election in 1601 ms
leader -1 of epoch 4
answer #6: error 125 leader -1 epoch 4 not granted (once written)
to 3: fetch epoch 4 from 6@2 mark 0 (once written)
= unattached epoch 4 leader -1 voted -1 unwritten 1 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> vote from=2 epoch=4 last=9@1 voter=1 voter-dir=7
answer #7: ok leader -1 epoch 4 not granted (once written)
= unattached epoch 4 leader -1 voted -1 unwritten 1 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> vote from=3 epoch=4 last=5@2
answer #8: ok leader -1 epoch 4 not granted (once written)
= unattached epoch 4 leader -1 voted -1 unwritten 1 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> vote from=3 epoch=4 last=6@2 pre
answer #9: ok leader -1 epoch 4 granted (once written)
= unattached epoch 4 leader -1 voted -1 unwritten 1 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> vote from=3 epoch=4 last=6@2
persist epoch 4 leader -1 voted 3
timer election in 1747 ms
answer #10: ok leader -1 epoch 4 granted (once written)
= unattached epoch 4 leader -1 voted 3 unwritten 2 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> persisted
= unattached epoch 4 leader -1 voted 3 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> vote from=3 epoch=4 last=6@2
answer #11: ok leader -1 epoch 4 granted
= unattached epoch 4 leader -1 voted 3 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> vote from=2 epoch=4 last=7@2
answer #12: ok leader -1 epoch 4 not granted
= unattached epoch 4 leader -1 voted 3 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> vote from=2 epoch=4 last=7@2 pre
answer #13: ok leader -1 epoch 4 granted
= unattached epoch 4 leader -1 voted 3 log 0 1:0 2:4 end 6 mark 0 t0 peer3* probe 0
> begin leader=3 epoch=4
no timer election
persist epoch 4 leader 3 voted 3
timer election in 2000 ms
leader 3 of epoch 4
answer #14: ok leader 3 epoch 4 (once written)
to 3: fetch epoch 4 from 6@2 mark 0 (once written)
= follower epoch 4 leader 3 voted 3 unwritten 1 log 0 1:0 2:4 end 6 mark 0 t0 peer3* leader-mark -1 probe 0
> vote from=2 epoch=4 last=7@2
answer #15: ok leader 3 epoch 4 not granted (once written)
= follower epoch 4 leader 3 voted 3 unwritten 1 log 0 1:0 2:4 end 6 mark 0 t0 peer3* leader-mark -1 probe 0
> begin leader=2 epoch=4
answer #16: error 42 leader 3 epoch 4 (once written)
= follower epoch 4 leader 3 voted 3 unwritten 1 log 0 1:0 2:4 end 6 mark 0 t0 peer3* leader-mark -1 probe 0
> begin leader=2 epoch=3
answer #17: error 74 leader 3 epoch 4 (once written)
= follower epoch 4 leader 3 voted 3 unwritten 1 log 0 1:0 2:4 end 6 mark 0 t0 peer3* leader-mark -1 probe 0
> vote from=2 epoch=5 last=7@2
no timer election
persist epoch 5 leader -1 voted -
timer election in 1103 ms
leader -1 of epoch 5
persist epoch 5 leader -1 voted 2
timer election in 1416 ms
answer #18: ok leader -1 epoch 5 granted (once written)
to 2: fetch epoch 5 from 6@2 mark 0 (once written)
= unattached epoch 5 leader -1 voted 2 unwritten 3 log 0 1:0 2:4 end 6 mark 0 t0 peer2* probe 1
