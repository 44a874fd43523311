# Who is no voter looks for the leader, follows it, stands for nothing and grants like anybody.
config self=9 voters=1,2,3 bootstrap=-2
> start
to 1: fetch epoch 0 from 0@0 mark 0
= unattached epoch 0 leader -1 voted -1 log 0 end 0 mark 0 peer1* probe 1
> fetched from=1 epoch=3 leader=2 error=6
persist epoch 3 leader 2 voted -
leader 2 of epoch 3
to 2: fetch epoch 3 from 0@0 mark 0 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 end 0 mark 0 peer2* leader-mark -1 probe 1
> fetched from=2 epoch=3 leader=2 mark=2 batches=0-2@3
append 1 fetched batches from 0 to 2
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 2 durable 0 mark 0 op>2 fetched leader-mark 2 probe 1
> done
committed 2
to 2: fetch epoch 3 from 2@3 mark 2 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 2 mark 2 peer2* fetched leader-mark 2 probe 1
> failed peer=2 ended
to 2: fetch epoch 3 from 2@3 mark 2 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 2 mark 2 peer2* fetched leader-mark 2 probe 1
> failed peer=2 refused
timer retry in 20 ms
to 3: fetch epoch 3 from 2@3 mark 2 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 2 mark 2 t3 peer2~! peer3* fetched leader-mark 2 probe 3
> failed peer=3
to -2: fetch epoch 3 from 2@3 mark 2 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 2 mark 2 t3 peer-2* peer2~! peer3~ fetched leader-mark 2 probe 0
> timer retry
to 2: fetch epoch 3 from 2@3 mark 2 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 2 mark 2 peer-2* peer2*! fetched leader-mark 2 probe 0
> fetched from=2 epoch=3 leader=2 mark=2
to 2: fetch epoch 3 from 2@3 mark 2 (once written)
= follower epoch 3 leader 2 voted -1 unwritten 1 log 0 3:0 end 2 mark 2 peer-2* peer2* fetched leader-mark 2 probe 0
