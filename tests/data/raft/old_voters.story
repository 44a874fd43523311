# A voter that knows no pre-vote is asked for a vote.
config log=1:0 end=3 epoch=1
> start
timer election in 1601 ms
to 2: fetch epoch 1 from 3@1 mark 0
= unattached epoch 1 leader -1 voted -1 log 0 1:0 end 3 mark 0 t0 peer2* probe 1
> timer election
timer election in 1747 ms
to 2: pre-vote for 1 epoch 1 last 3@1
to 3: pre-vote for 1 epoch 1 last 3@1
= prospective epoch 1 leader -1 voted -1 log 0 1:0 end 3 mark 0 t0 peer2* peer3* +1
> failed peer=2 unsupported
no timer election
persist epoch 2 leader -1 voted 1
timer election in 1103 ms
leader -1 of epoch 2
to 2: vote for 1 epoch 2 last 3@1 (once written)
to 3: vote for 1 epoch 2 last 3@1 (once written)
= candidate epoch 2 leader -1 voted 1 unwritten 1 log 0 1:0 end 3 mark 0 t0 peer2* peer3*
> persisted
= candidate epoch 2 leader -1 voted 1 log 0 1:0 end 3 mark 0 t0 peer2* peer3* +1
