# A follower comes back whose newest snapshot holds its whole log, and nobody changes anything: the mark that it starts
# with is told once the leader, who is asked as by one that knows no mark, confirms it; the second time it is nothing new.
config epoch=2 leader=2 snapshot=10@2
> start
persist epoch 2 leader 2 voted -
timer election in 2000 ms
leader 2 of epoch 2
to 2: fetch epoch 2 from 10@2 mark -1 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 10@2 end 10 mark 10 untold snapshot 10-2 t0 peer2* leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=-1
timer election in 2000 ms
to 2: fetch epoch 2 from 10@2 mark -1 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 10@2 end 10 mark 10 untold snapshot 10-2 t0 peer2* fetched leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=10
committed 10
timer election in 2000 ms
to 2: fetch epoch 2 from 10@2 mark 10 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 10@2 end 10 mark 10 snapshot 10-2 t0 peer2* fetched leader-mark 10 probe 0
> fetched from=2 epoch=2 leader=2 mark=10
timer election in 2000 ms
to 2: fetch epoch 2 from 10@2 mark 10 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 10@2 end 10 mark 10 snapshot 10-2 t0 peer2* fetched leader-mark 10 probe 0
