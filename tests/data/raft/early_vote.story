# The leader's process dies: its connection ends, the address refuses. The others are asked within 50 ms, again after
# 50 to 150 ms while it refuses, and contact with it ends that.
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
> failed peer=2 ended
timer early-vote in 30 ms
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t5 peer2* hurried leader-mark 3 probe 0
> failed peer=2 refused
timer retry in 20 ms
to 3: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 t5 peer2~! peer3* hurried leader-mark 3 probe 0
> vote from=3 epoch=5 last=3@5 pre
answer #1: ok leader 2 epoch 5 granted (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 t5 peer2~! peer3* hurried leader-mark 3 probe 0
> timer early-vote
no timer election
timer election in 1747 ms
to 2: pre-vote for 1 epoch 5 last 3@5 (once written)
to 3: pre-vote for 1 epoch 5 last 3@5 (once written)
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2*! peer3* +1 hurried
> failed peer=2 refused
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2! peer3* +1 -2 hurried
> voted from=3 epoch=5 leader=2
no timer election
timer election in 2000 ms
timer early-vote in 60 ms
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 t5 peer2*! hurried-again leader-mark -1 probe 0
> failed peer=2 refused
to 3: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 t5 peer2~! peer3* hurried-again leader-mark -1 probe 0
> timer early-vote
no timer election
timer election in 1416 ms
to 2: pre-vote for 1 epoch 5 last 3@5 (once written)
to 3: pre-vote for 1 epoch 5 last 3@5 (once written)
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2*! peer3* +1 hurried
> begin leader=2 epoch=5
no timer election
timer election in 2000 ms
answer #2: ok leader 2 epoch 5 (once written)
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2*! leader-mark -1 probe 0
> fetched from=2 epoch=5 leader=2 mark=3
timer election in 2000 ms
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2* fetched leader-mark 3 probe 0
> failed peer=2 ended
timer early-vote in 36 ms
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 t5 peer2* hurried leader-mark 3 probe 0
> fetched from=2 epoch=5 leader=2 mark=3
no timer early-vote
timer election in 2000 ms
to 2: fetch epoch 5 from 3@5 mark 3 (once written)
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2* fetched leader-mark 3 probe 0
> connection-ended peer=2
timer early-vote in 49 ms
= follower epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 t5 peer2* hurried leader-mark 3 probe 0
> timer early-vote
no timer election
timer election in 1422 ms
to 2: pre-vote for 1 epoch 5 last 3@5 (once written)
to 3: pre-vote for 1 epoch 5 last 3@5 (once written)
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2* peer3* +1 hurried
> failed peer=2 refused
= prospective epoch 5 leader 2 voted -1 unwritten 1 log 0 5:0 end 3 mark 3 t0 t3 peer2! peer3* +1 -2 hurried
> voted from=3 epoch=5 leader=2 granted
no timer election
persist epoch 6 leader -1 voted 1
timer election in 1535 ms
leader -1 of epoch 6
to 2: vote for 1 epoch 6 last 3@5 (once written)
to 3: vote for 1 epoch 6 last 3@5 (once written)
= candidate epoch 6 leader -1 voted 1 unwritten 2 log 0 5:0 end 3 mark 3 t0 t3 peer2*! peer3* hurried
> persisted
= candidate epoch 6 leader -1 voted 1 log 0 5:0 end 3 mark 3 t0 t3 peer2*! peer3* +1 hurried
> voted from=3 epoch=6 granted
no timer election
persist epoch 6 leader 1 voted -
leader-change epoch 6 at 3 leader 1 granted by 1 3
leads epoch 6 from 3
leader 1 of epoch 6
timer check-quorum in 3000 ms
timer begin-epoch in 1000 ms
to 2: begin epoch 6 of 1 (once written)
to 3: begin epoch 6 of 1 (once written)
= leader epoch 6 leader 1 voted -1 unwritten 1 log 0 5:0 6:3 end 4 durable 3 mark 3 op>4 t1 t2 t3 peer2*! peer3* start 3 unmarked 2=-1? 3=-1?
