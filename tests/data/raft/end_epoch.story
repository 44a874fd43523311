# The end of an epoch, told by its leader: the first successor stands at once, the others later.
config epoch=3 leader=2 log=3:0 end=4
> start
persist epoch 3 leader 2 voted -
timer election in 2000 ms
leader 2 of epoch 3
to 2: fetch epoch 3 from 4@3 mark 0 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> end leader=2 epoch=3 successors=1,3
timer election in 0 ms
answer #1: ok leader 2 epoch 3 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> end leader=2 epoch=3 successors=3,1
timer election in 500 ms
answer #2: ok leader 2 epoch 3 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> end leader=2 epoch=3 successors=3
timer election in 1000 ms
answer #3: ok leader 2 epoch 3 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> end leader=2 epoch=3
timer election in 0 ms
answer #4: ok leader 2 epoch 3 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> end leader=3 epoch=3
answer #5: error 42 leader 2 epoch 3 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> end leader=2 epoch=2
answer #6: error 74 leader 2 epoch 3 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* leader-mark -1 probe 0
> timer election
timer election in 1601 ms
to 2: pre-vote for 1 epoch 3 last 4@3 (once written)
to 3: pre-vote for 1 epoch 3 last 4@3 (once written)
= prospective epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 4 mark 0 t0 peer2* peer3* +1
> voted from=2 epoch=3 leader=2 granted
no timer election
persist epoch 4 leader -1 voted 1
timer election in 1747 ms
leader -1 of epoch 4
to 2: vote for 1 epoch 4 last 4@3 (once written)
to 3: vote for 1 epoch 4 last 4@3 (once written)
= candidate epoch 4 leader -1 voted 1 unwritten 2 log 0 3:0 end 4 mark 0 t0 peer2* peer3*
