# What is committed is not given up because a peer says so, and batches that do not fit are not taken.
config epoch=2 leader=2 snapshot=5@1 log=1:5,2:7 end=9
> start
persist epoch 2 leader 2 voted -
timer election in 2000 ms
leader 2 of epoch 2
to 2: fetch epoch 2 from 9@2 mark -1 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 5 untold snapshot 5-1 t0 peer2* leader-mark -1 probe 0
> fetched from=2 epoch=2 leader=2 mark=9
committed 9
timer election in 2000 ms
to 2: fetch epoch 2 from 9@2 mark 9 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 peer2* fetched leader-mark 9 probe 0
> fetched from=2 epoch=2 leader=2 mark=9 diverging=8@2
complaint: 2 wants committed records to be cut off, down to 8
timer retry in 20 ms
to 3: fetch epoch 2 from 9@2 mark 9 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 t3 peer2~ peer3* fetched leader-mark 9 probe 0
> timer retry
to 2: fetch epoch 2 from 9@2 mark 9 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 9 probe 0
> fetched from=2 epoch=2 leader=2 mark=9 diverging=2@0
complaint: 2 wants committed records to be cut off, down to 5
timer retry in 20 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 t3 peer2~ peer3* fetched leader-mark 9 probe 0
> timer retry
to 2: fetch epoch 2 from 9@2 mark 9 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 9 probe 0
> fetched from=2 epoch=2 leader=2 mark=9 snapshot=8@2
complaint: 2 offers a snapshot of what is already committed here, up to 8
timer retry in 20 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 t3 peer2~ peer3* fetched leader-mark 9 probe 0
> timer retry
to 2: fetch epoch 2 from 9@2 mark 9 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 9 probe 0
> fetched from=2 epoch=2 leader=2 mark=12 batches=10-12@2
complaint: 2 sent a batch that does not fit, at 10
timer retry in 20 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 t3 peer2~ peer3* fetched leader-mark 9 probe 0
> timer retry
to 2: fetch epoch 2 from 9@2 mark 9 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 9 mark 9 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 9 probe 0
> fetched from=2 epoch=2 leader=2 mark=12 batches=9-10@2,10-11@1
complaint: 2 sent a batch that does not fit, at 10
append 1 fetched batches from 9 to 10
timer election in 2000 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 durable 9 mark 9 snapshot 5-1 op>10 t0 peer3* fetched leader-mark 12 probe 0
> done
committed 10
to 2: fetch epoch 2 from 10@2 mark 10 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 mark 10 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 12 probe 0
> fetched from=2 epoch=2 leader=2 mark=12 batches=10-11@3
complaint: 2 sent a batch that does not fit, at 10
timer retry in 20 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 mark 10 snapshot 5-1 t0 t3 peer2~ peer3* fetched leader-mark 12 probe 0
> timer retry
to 2: fetch epoch 2 from 10@2 mark 10 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 mark 10 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 12 probe 0
> fetched from=2 epoch=2 leader=3 error=6
complaint: 2 names another leader of this epoch 3
timer retry in 20 ms
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 mark 10 snapshot 5-1 t0 t3 peer2~ peer3* fetched leader-mark 12 probe 0
> timer retry
to 2: fetch epoch 2 from 10@2 mark 10 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 mark 10 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 12 probe 0
> begin leader=3 epoch=2
answer #1: error 42 leader 2 epoch 2 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 mark 10 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 12 probe 0
> begin leader=1 epoch=2
answer #2: error 42 leader 2 epoch 2 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 mark 10 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 12 probe 0
> fetched from=2 epoch=2 leader=2 mark=4
timer election in 2000 ms
to 2: fetch epoch 2 from 10@2 mark 10 (once written)
= follower epoch 2 leader 2 voted -1 unwritten 1 log 5@1 1:5 2:7 end 10 mark 10 snapshot 5-1 t0 peer2* peer3* fetched leader-mark 12 probe 0
