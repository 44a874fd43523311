# A voter that hears nobody asks for pre-votes and never raises the epoch; when it is back nothing has moved.
config epoch=5 leader=2 log=5:0 end=3
> start
persist epoch 5 leader 2 voted -
timer election in 2000 ms
leader 2 of epoch 5
to 2: fetch epoch 5 from 3@5 mark 0 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 0 t0 peer2* leader-mark -1 probe 0
> fetched from=2 epoch=5 leader=2 mark=3
committed 3
timer election in 2000 ms
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 peer2* fetched leader-mark 3 probe 0
> timer election
timer election in 1601 ms
to 2: pre-vote for 1 epoch 5 last 3@5 (once written)
to 3: pre-vote for 1 epoch 5 last 3@5 (once written)
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 peer2* peer3* +1
> failed peer=2
timer retry in 20 ms
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2~ peer3* +1
> failed peer=3
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2~ peer3~ +1
> timer retry
to 2: pre-vote for 1 epoch 5 last 3@5 (once written)
to 3: pre-vote for 1 epoch 5 last 3@5 (once written)
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 peer2* peer3* +1
> timer election
timer election in 2000 ms
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 peer2* leader-mark -1 probe 0
> failed peer=2
timer retry in 20 ms
to 3: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2~ peer3* leader-mark -1 probe 0
> timer election
timer election in 1747 ms
to 2: pre-vote for 1 epoch 5 last 3@5 (once written)
to 3: pre-vote for 1 epoch 5 last 3@5 (once written)
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2* peer3* +1
> voted from=3 epoch=5 leader=2
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2* +1 -3
> voted from=2 epoch=5 leader=2
no timer election
timer election in 2000 ms
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2* leader-mark -1 probe 0
> fetched from=2 epoch=5 leader=2 mark=4 batches=3-4@5
append 1 fetched batches from 3 to 4
timer election in 2000 ms
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 4 durable 3 mark 3 op>4 t0 t3 fetched leader-mark 4 probe 0
> done
committed 4
to 2: fetch epoch 5 from 4@5 mark 4 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 4 mark 4 t0 t3 peer2* fetched leader-mark 4 probe 0
