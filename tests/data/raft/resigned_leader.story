# A leader that resigned is no leader that works: once it has said so, who had fetched from it grants the pre-vote of another,
# which may not get the old leader's, whose log may be longer.
config epoch=3 leader=2 log=3:0 end=4
> start
persist epoch 3 leader 2 voted -
timer election in 2000 ms
leader 2 of epoch 3
to 2: fetch epoch 3 from 4@3 mark 0 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> fetched from=2 epoch=3 leader=2 mark=4
committed 4
timer election in 2000 ms
to 2: fetch epoch 3 from 4@3 mark 4 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 4 t0 peer2* fetched leader-mark 4 probe 0
> vote from=3 epoch=3 last=4@3 pre
answer #1: ok leader 2 epoch 3 not granted (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 4 t0 peer2* fetched leader-mark 4 probe 0
> end leader=2 epoch=3 successors=3,1
timer election in 500 ms
answer #2: ok leader 2 epoch 3 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 4 t0 peer2* leader-mark 4 probe 0
> vote from=3 epoch=3 last=4@3 pre
answer #3: ok leader 2 epoch 3 granted (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 4 t0 peer2* leader-mark 4 probe 0
