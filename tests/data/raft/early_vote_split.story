# The leader's process dies, and both others stand at once: each has its own vote. They do not wait for the time of an
# election that was held in peace, but ask anew within 50 to 150 ms; who granted the other a vote meanwhile waits for it.
config epoch=5 leader=2 log=5:0 end=3
> start
persist epoch 5 leader 2 voted -
timer election in 2000 ms
leader 2 of epoch 5
to 2: fetch epoch 5 from 3@5 mark 0 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 0 t0 peer2* leader-mark -1 probe 0
> persisted
= follower epoch 5 leader 2 voted -1 log 0 5:0 end 3 mark 0 t0 peer2* leader-mark -1 probe 0
> fetched from=2 epoch=5 leader=2 mark=3
committed 3
timer election in 2000 ms
to 2: fetch epoch 5 from 3@5 mark 3
= follower epoch 5 leader 2 voted -1 log 0 5:0 end 3 mark 3 t0 peer2* fetched leader-mark 3 probe 0
> failed peer=2 ended
timer early-vote in 30 ms
to 2: fetch epoch 5 from 3@5 mark 3
= follower epoch 5 leader 2 voted -1 log 0 5:0 end 3 mark 3 t0 t5 peer2* hurried leader-mark 3 probe 0
> timer early-vote
no timer election
timer election in 1747 ms
to 2: pre-vote for 1 epoch 5 last 3@5
to 3: pre-vote for 1 epoch 5 last 3@5
= prospective epoch 5 leader 2 voted -1 log 0 5:0 end 3 mark 3 t0 peer2* peer3* +1 hurried
> failed peer=2 refused
= prospective epoch 5 leader 2 voted -1 log 0 5:0 end 3 mark 3 t0 peer2! peer3* +1 -2 hurried
> voted from=3 epoch=5 leader=2 granted
no timer election
persist epoch 6 leader -1 voted 1
timer election in 1103 ms
leader -1 of epoch 6
to 2: vote for 1 epoch 6 last 3@5 (once written)
to 3: vote for 1 epoch 6 last 3@5 (once written)
= candidate epoch 6 leader -1 voted 1 unwritten 1 log 0 5:0 end 3 mark 3 t0 peer2*! peer3* hurried
> persisted
= candidate epoch 6 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 peer2*! peer3* +1 hurried
> failed peer=2 refused
= candidate epoch 6 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 peer2! peer3* +1 -2 hurried
> voted from=3 epoch=6
timer election in 91 ms
= candidate epoch 6 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 peer2! +1 -2 -3 hurried
> wait 90
> timer election
timer election in 1732 ms
to 2: pre-vote for 1 epoch 6 last 3@5
to 3: pre-vote for 1 epoch 6 last 3@5
= prospective epoch 6 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 peer2*! peer3* +1 hurried
> failed peer=2 refused
timer retry in 20 ms
= prospective epoch 6 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 t3 peer2~! peer3* +1 hurried
> voted from=3 epoch=6 granted
no timer election
persist epoch 7 leader -1 voted 1
timer election in 1999 ms
leader -1 of epoch 7
to 2: vote for 1 epoch 7 last 3@5 (once written)
to 3: vote for 1 epoch 7 last 3@5 (once written)
= candidate epoch 7 leader -1 voted 1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2*! peer3* hurried
> persisted
= candidate epoch 7 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 t3 peer2*! peer3* +1 hurried
> failed peer=2 refused
= candidate epoch 7 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 t3 peer2! peer3* +1 -2 hurried
> vote from=3 epoch=7 last=3@5
answer #1: ok leader -1 epoch 7 not granted
= candidate epoch 7 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 t3 peer2! peer3* +1 -2 hurried
> voted from=3 epoch=7
timer election in 92 ms
= candidate epoch 7 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 t3 peer2! +1 -2 -3 hurried
> timer election
timer election in 1535 ms
to 2: pre-vote for 1 epoch 7 last 3@5
to 3: pre-vote for 1 epoch 7 last 3@5
= prospective epoch 7 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 t3 peer2*! peer3* +1 hurried
> vote from=3 epoch=8 last=3@5
no timer election
persist epoch 8 leader -1 voted -
timer election in 1535 ms
leader -1 of epoch 8
persist epoch 8 leader -1 voted 3
timer election in 1855 ms
answer #2: ok leader -1 epoch 8 granted (once written)
to 2: fetch epoch 8 from 3@5 mark 3 (once written)
= unattached epoch 8 leader -1 voted 3 unwritten 2 log 0 5:0 end 3 mark 3 t0 t3 peer2*! probe 1
> persisted
= unattached epoch 8 leader -1 voted 3 log 0 5:0 end 3 mark 3 t0 t3 peer2*! probe 1
> begin leader=3 epoch=8
no timer election
persist epoch 8 leader 3 voted 3
timer election in 2000 ms
leader 3 of epoch 8
answer #3: ok leader 3 epoch 8 (once written)
to 3: fetch epoch 8 from 3@5 mark 3 (once written)
= follower epoch 8 leader 3 voted 3 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2! peer3* leader-mark -1 probe 1
