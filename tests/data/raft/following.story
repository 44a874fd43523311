# A follower asks again only when what it got is on disk, takes the mark from its leader, cuts what its leader does
# not have and asks a new leader in the new epoch.
config epoch=2 leader=2 log=1:0 end=5
> start
persist epoch 2 leader 2 voted -
timer election in 2000 ms
leader 2 of epoch 2
to 2: fetch epoch 2 from 5@1 mark 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 5 mark 0 t0 peer2* leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=-1 diverging=3@1
truncate to 3
timer election in 2000 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 op>3 t0 fetched leader-mark -1 probe 0
> done
to 2: fetch epoch 2 from 3@1 mark 0 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* fetched leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=3 batches=3-4@1,4-6@2
append 2 fetched batches from 3 to 6
committed 3
timer election in 2000 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 2:4 end 6 durable 3 mark 3 op>6 t0 fetched leader-mark 3 probe 0
> done
to 2: fetch epoch 2 from 6@2 mark 3 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 2:4 end 6 mark 3 t0 peer2* fetched leader-mark 3 probe 0
> fetched from=2 epoch=2 leader=2 mark=6
committed 6
timer election in 2000 ms
to 2: fetch epoch 2 from 6@2 mark 6 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 0 1:0 2:4 end 6 mark 6 t0 peer2* fetched leader-mark 6 probe 0
> fetched from=2 epoch=3 leader=3 error=74
no timer election
persist epoch 3 leader 3 voted -
timer election in 2000 ms
leader 3 of epoch 3
to 3: fetch epoch 3 from 6@2 mark 6 (once written)
= follower epoch 3 leader 3 voted -1 unwritten 2 log 0 1:0 2:4 end 6 mark 6 t0 peer3* leader-mark -1 probe 0
> fetched from=3 epoch=3 leader=3 mark=-1
timer election in 2000 ms
to 3: fetch epoch 3 from 6@2 mark 6 (once written)
= follower epoch 3 leader 3 voted -1 unwritten 2 log 0 1:0 2:4 end 6 mark 6 t0 peer3* fetched leader-mark -1 probe 0
> fetched from=3 epoch=3 leader=3 mark=7 batches=6-7@3
append 1 fetched batches from 6 to 7
timer election in 2000 ms
= follower epoch 3 leader 3 voted -1 unwritten 2 log 0 1:0 2:4 3:6 end 7 durable 6 mark 6 op>7 t0 fetched leader-mark 7 probe 0
> vote from=2 epoch=3 last=9@2 pre
answer #1: ok leader 3 epoch 3 not granted (once written)
= follower epoch 3 leader 3 voted -1 unwritten 2 log 0 1:0 2:4 3:6 end 7 durable 6 mark 6 op>7 t0 fetched leader-mark 7 probe 0
> done
committed 7
to 3: fetch epoch 3 from 7@3 mark 7 (once written)
= follower epoch 3 leader 3 voted -1 unwritten 2 log 0 1:0 2:4 3:6 end 7 mark 7 t0 peer3* fetched leader-mark 7 probe 0
